// What a reader did in a lane's card, kept while the card is painted anew.
//
// A front end replaces the whole content of an output with each picture: what was unfolded, scrolled,
// selected or focused in it is gone. Here it is put back, before the page is drawn again.
//
// A place is known by the nearest `data-snb-key` around it, by the kind of element and its number
// among those; the three pictures of a card are one room, so that an item which is finished, and
// moves from one picture to another, takes along what was done in it. Text is compared, never run:
// nothing of it becomes markup or a selector. Where front ends make a new element for each picture,
// nothing is put back, and nothing is broken.
//
// What a wheel and keys do is in turn.js. Where the front end paints no more, carry.js does.

const KEYED = "[data-snb-key]";
const SCROLLS = ".snb-scroll";
const CONTEXT = 200; // so many characters before a place tell it from others,
const LEAST = 40; // and fewer than these do not
const PATIENCE_MS = 1000; // a moving item is in neither picture for a moment

function hold(el, { name: own = "", came = () => {} } = {}) {
  let hosts = null; // of the three pictures: they stay, their content is replaced
  let observer = null;
  const folds = new Map(); // place -> whether it is open, of those that ever were
  const scrolls = new Map(); // place -> how it is scrolled, of those that are
  let focus = null;
  let picked = null; // what is selected
  let press = null; // where a person began to drag
  const turns = turning(scrolled);

  // -- places ----------------------------------------------------------------------------------

  function keyed(key) {
    for (const host of hosts) {
      for (const one of host.querySelectorAll(KEYED)) if (one.dataset.snbKey === key) return one;
    }
    return null;
  }

  function place(node) {
    const around = node.closest(KEYED);
    if (around === null) return null;
    const kind = node === around ? "" : node.localName;
    const number = kind ? [...around.querySelectorAll(kind)].indexOf(node) : 0;
    return { key: around.dataset.snbKey, kind, number };
  }
  const words = (node) => node.textContent.slice(0, CONTEXT);
  const name = ({ key, kind, number }) => `${key} ${kind} ${number}`;

  // The element in that place now. Where the older part of a text was left out meanwhile, or came
  // back, numbers are others: then the one that begins with the same words, if there is but one.
  function find({ key, kind, number }, text = null) {
    const around = keyed(key);
    if (around === null || !kind) return around;
    const same = [...around.querySelectorAll(kind)];
    if (text === null) return same[number] ?? null;
    const begins = (one) => one.textContent.startsWith(text) || text.startsWith(one.textContent);
    if (same[number] && begins(same[number])) return same[number];
    const alike = text.length < LEAST ? [] : same.filter((one) => one.textContent.startsWith(text));
    return alike.length === 1 ? alike[0] : null;
  }

  // -- folds -----------------------------------------------------------------------------------

  function folded(tree) {
    for (const fold of tree.querySelectorAll("details")) {
      const where = place(fold);
      if (where && (fold.open || folds.has(name(where)))) folds.set(name(where), fold.open);
    }
  }

  function unfold(tree) {
    for (const fold of tree.querySelectorAll("details")) {
      const where = name(place(fold));
      if (folds.has(where)) fold.open = folds.get(where);
      else if (fold.open) folds.set(where, true); // drawn so: a person may close it
    }
  }

  // -- scrolling -------------------------------------------------------------------------------

  // Who reads in the middle keeps the line at the top, however much is written or left out.
  function anchor(box) {
    const edge = box.getBoundingClientRect().top;
    const below = (one) => one.getBoundingClientRect().bottom > edge + 1;
    const item = [...box.querySelectorAll(KEYED)].find(below);
    if (!item) return null;
    let line = item;
    for (let next = item; next; next = [...line.children].find(below)) {
      if (getComputedStyle(next).display.startsWith("inline")) break;
      line = next;
    }
    const top = (one) => one.getBoundingClientRect().top - edge;
    const where = place(line);
    return { item: item.dataset.snbKey, lead: top(item), where, text: words(line), lies: top(line) };
  }

  function hang(box, { item, lead, where, text, lies }) {
    const found = find(where, text);
    const one = found && box.contains(found) ? found : keyed(item);
    if (one === null || !box.contains(one)) return;
    const now = one.getBoundingClientRect().top - box.getBoundingClientRect().top;
    box.scrollTop += now - (one === found ? lies : lead);
  }

  function scrolled({ target: box }) {
    if (!(box instanceof Element)) return;
    turns.scrolled(box);
    const where = place(box);
    if (where === null) return;
    const known = scrolls.get(name(where));
    const { scrollTop: top, scrollLeft: left } = box;
    if (known?.box === box && known.top === top && known.left === left) return; // it was put back
    if (Math.abs(top) < 1 && Math.abs(left) < 1) return void scrolls.delete(name(where));
    const rest = box.scrollHeight - box.clientHeight - top;
    const held = box.matches(SCROLLS) ? anchor(box) : null;
    const text = held ? null : words(box);
    scrolls.set(name(where), { box, where, text, top, left, end: top > 1 && rest < 2, held });
  }

  function scroll() {
    const live = scrolls.get("live  0");
    if (live?.held && !scrolls.has("past  0")) {
      const item = keyed(live.held.item);
      if (item !== null && keyed("past")?.contains(item)) {
        // What was read while it was written is finished: it is read on where it stands now.
        const where = { ...live.where, key: "past" };
        scrolls.delete("live  0");
        scrolls.set("past  0", { ...live, where });
        if (focus?.node === live.box) focus.where = where;
      }
    }
    for (const known of scrolls.values()) {
      const box = find(known.where, known.text);
      if (box === null || box === known.box) continue;
      known.box = box;
      box.scrollLeft = known.left;
      if (known.held) hang(box, known.held);
      else box.scrollTop = known.end ? box.scrollHeight : known.top;
      [known.top, known.left] = [box.scrollTop, box.scrollLeft];
    }
  }

  // -- focus -----------------------------------------------------------------------------------

  function focused({ target: node }) {
    focus = { node, where: place(node), seen: node.matches(":focus-visible"), since: null };
  }

  function blurred({ target: node }) {
    // Some browsers tell of it, too, when the element is taken away: that is no person's doing.
    queueMicrotask(() => {
      const left = node.isConnected && document.activeElement !== node;
      if (left && focus?.node === node) focus = null;
    });
  }

  function refocus() {
    if (focus === null || focus.node.isConnected) return;
    const nowhere = document.activeElement === null || document.activeElement === document.body;
    focus.since ??= performance.now();
    if (!nowhere || focus.where === null || performance.now() - focus.since > PATIENCE_MS) {
      focus = null;
      return;
    }
    const { key } = focus.where;
    const found = find(focus.where) ?? (key === "live" ? keyed("past") : null);
    found?.focus({ preventScroll: true, focusVisible: focus.seen });
  }

  // -- selection -------------------------------------------------------------------------------

  function point(node, offset) {
    const within = node instanceof Element ? node : node?.parentElement;
    const around = within?.closest(KEYED);
    if (!around || !hosts.some((host) => host.contains(around))) return null;
    const range = document.createRange();
    range.setStart(around, 0);
    range.setEnd(node, offset);
    const at = range.toString().length;
    return { node, key: around.dataset.snbKey, at, text: around.textContent };
  }

  function selected() {
    const chosen = getSelection();
    // It fell out of the page, and is waited for.
    if (picked !== null && picked.since !== null && !(chosen.anchorNode instanceof Text)) return;
    if (press?.last && press.painted) extend(chosen);
    if (chosen.rangeCount === 0) return void (picked = null);
    const anchor = point(chosen.anchorNode, chosen.anchorOffset);
    const focus = point(chosen.focusNode, chosen.focusOffset);
    if (anchor === null && focus === null) return void (picked = null);
    const range = chosen.getRangeAt(0);
    const ahead = range.startContainer === chosen.anchorNode &&
      range.startOffset === chosen.anchorOffset;
    picked = { anchor, focus, ahead, since: null };
  }

  // The page is told of a selection a little later than it is made: too late, where it is painted in
  // between. So a person who begins to drag, or ends, is looked at right then.
  function under({ clientX, clientY }) {
    const range = document.caretRangeFromPoint?.(clientX, clientY); // not every browser tells
    return range ? [range.startContainer, range.startOffset] : null;
  }

  function pressed(event) {
    if (turns.grasp(event)) return;
    if (event.button !== 0 || event.shiftKey || event.detail > 1) return; // words are chosen whole
    const where = under(event);
    const caret = where && point(...where);
    picked = caret && { anchor: caret, focus: caret, ahead: true, since: null };
    press = caret && { ...caret, last: null, painted: false };
  }

  function dragged(event) {
    if (press !== null && event.buttons & 1) press.last = event;
  }

  function released() {
    selected();
    press = null;
  }

  // A browser whose element was replaced right when it was pressed forgets where the drag began.
  function extend(chosen) {
    const around = keyed(press.key);
    const at = around === null ? -1 : moved(press, around.textContent);
    const base = point(chosen.anchorNode, chosen.anchorOffset);
    const now = under(press.last);
    if (at < 0 || now === null || (base?.key === press.key && base.at === at)) return;
    chosen.setBaseAndExtent(...spot(around, at, true), ...now);
  }

  // Where a place in a text is now: nowhere, if what stands before it is no longer the same.
  function moved({ text, at }, now) {
    const before = text.slice(0, at);
    if (now.startsWith(before)) return at;
    for (const tail of [before.slice(-CONTEXT), before.slice(-LEAST)]) {
      const found = now.indexOf(tail); // its beginning was left out, or is shown again
      const once = found >= 0 && now.indexOf(tail, found + 1) < 0;
      if (once && tail.length >= LEAST) return found + tail.length;
    }
    return -1;
  }

  function spot(around, at, first) {
    const texts = document.createTreeWalker(around, NodeFilter.SHOW_TEXT);
    let last = null;
    for (let left = at; texts.nextNode(); left -= last.length) {
      last = texts.currentNode;
      if (left < last.length || (left === last.length && !first)) return [last, left];
    }
    return last === null ? [around, 0] : [last, last.length];
  }

  // The ends of the selection now: as they are where they still stand, found again where they fell
  // out of the page; false where a person has chosen something else.
  function ends(chosen) {
    const { anchor, focus, ahead } = picked;
    const caret = anchor?.key === focus?.key && anchor?.at === focus?.at;
    const found = [];
    for (const end of ["anchor", "focus"]) {
      const was = picked[end];
      const [node, offset] = [chosen[`${end}Node`], chosen[`${end}Offset`]];
      if (was === null || was.node.isConnected) {
        if (was !== null && node !== was.node) return false;
        found.push([node, offset]);
        continue;
      }
      if (node instanceof Text) return false;
      const around = keyed(was.key);
      if (around === null) return null;
      const at = moved(was, around.textContent);
      if (at < 0) return false;
      found.push(spot(around, at, caret || (end === "anchor") === ahead));
    }
    return found;
  }

  function reselect() {
    if (picked === null) return;
    const lost = [picked.anchor, picked.focus].some((end) => end !== null && !end.node.isConnected);
    if (!lost) return;
    const chosen = getSelection();
    const found = ends(chosen);
    picked.since ??= performance.now();
    if (!found) {
      if (found === false || performance.now() - picked.since > PATIENCE_MS) picked = null;
      return;
    }
    const [[anchor, from], [focus, to]] = found;
    picked = null;
    chosen.setBaseAndExtent(anchor, from, focus, to);
    selected();
  }

  // -- painting --------------------------------------------------------------------------------

  function painted(records) {
    const trees = (nodes) => [...nodes].filter((node) => node instanceof Element);
    for (const { removedNodes } of records) trees(removedNodes).forEach(folded);
    for (const { addedNodes } of records) trees(addedNodes).forEach(unfold);
    for (const { target } of records) turns.painted(target);
    if (press !== null) press.painted = true;
    scroll();
    refocus();
    reselect();
    for (const { addedNodes, target } of records) {
      for (const part of trees(addedNodes)) {
        if (part.matches(".snb-part")) came(hosts.indexOf(target), part);
      }
    }
  }

  function listen(on) {
    const word = on ? "addEventListener" : "removeEventListener";
    for (const host of hosts) {
      host[word]("scroll", scrolled, { capture: true, passive: true });
      turns.listen(host, word);
      host[word]("mousedown", pressed);
      host[word]("focusin", focused);
      host[word]("focusout", blurred);
    }
    document[word]("selectionchange", selected);
    document[word]("mousemove", dragged);
    document[word]("mouseup", released);
  }

  // The card is the nearest above: three pictures, each in an output of its own.
  function begin() {
    if (!el.isConnected) return;
    if (hosts?.some((host) => host.getRootNode() !== document)) end(); // made anew elsewhere
    if (hosts !== null) return;
    const above = (one) => el.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_PRECEDING;
    const area = el.closest(".jp-OutputArea") ?? document;
    const all = [...area.querySelectorAll(".snb-part")].filter(above);
    const tops = all.map(({ classList, dataset }) =>
      classList.contains("snb-top") && (own === "" || dataset.snbCard === own));
    const top = tops.lastIndexOf(true);
    if (top < 0) return;
    const parts = all.slice(top, top + 3);
    watch(parts.map((one) => one.parentElement));
    for (const [n, part] of parts.entries()) came(n, part, true);
  }

  function watch(found) {
    hosts = found;
    observer = new MutationObserver(painted);
    for (const host of hosts) observer.observe(host, { childList: true });
    listen(true);
  }

  function end() {
    if (hosts === null) return;
    painted(observer.takeRecords());
    observer.disconnect();
    listen(false);
    hosts = null;
  }

  // The box is made before it is put into the page.
  const arrival = new ResizeObserver(begin);
  arrival.observe(el);

  const head = () => hosts?.[0].querySelector(".snb-top") ?? null;

  return {
    // By what the kernel knows this showing of the lane.
    number: () => Number(head()?.dataset.snbShow ?? 0),
    // The places of its three pictures; none where there are none.
    places() {
      begin();
      return hosts?.length === 3 ? hosts : [];
    },
    // Have the pictures in these places.
    settle(made) {
      end();
      watch(made);
    },
    // Focus the head, which names the card and its state to those who hear it read.
    focus() {
      const home = head() ?? hosts?.[0].closest(".jp-Notebook");
      if (!home) return;
      if (!home.hasAttribute("tabindex")) home.tabIndex = -1;
      home.focus({ preventScroll: true });
    },
    release() {
      arrival.disconnect();
      end();
    },
  };
}
