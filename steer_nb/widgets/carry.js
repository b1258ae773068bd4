// The card above a box, where the front end paints it no more; the kernel's half is carry.py.
//
// In a page that was reloaded, or a second one, the displays of a cell stand still, and the box lives.
// So a view that was reached by no display tells what it sees. Where the kernel has something newer,
// and that does not come, the view asks for it, and puts it where the front end would. Once a display
// arrives it is left to them.

const GRACE_MS = 500; // a display that is on its way has arrived then
const WORD_MS = 5000; // so often the kernel is told, at most, that what it sends arrives
const LATE_MS = 2000; // an answer that takes longer needs words

const BEHIND = "The card above is not the newest: waiting for the kernel.";

// What the kernel draws is made of these, and of nothing that runs or fetches; see test_hostile.py.
const ELEMENTS = "a b bdi blockquote code del details div em hr i ins li ol p pre s span strong style " +
  "summary table tbody td th thead tr ul";
const ATTRIBUTES = "aria-hidden aria-label aria-level class data-snb-card data-snb-key data-snb-paint " +
  "data-snb-show data-snb-title dir href rel role scope start style tabindex target title";
const [elements, attributes] = [ELEMENTS, ATTRIBUTES].map((names) => new Set(names.split(" ")));

// Read a picture, in a document that runs nothing, and take the elements out of it. It is our own HTML,
// escaped in Python: what else might be in it is left out all the same.
function safe(html) {
  const { body } = new DOMParser().parseFromString(`<body>${html}`, "text/html");
  for (const one of body.querySelectorAll("*")) {
    if (!elements.has(one.localName)) one.remove();
    for (const { name, value } of [...one.attributes]) {
      const runs = name === "href" && !/^(https?|mailto):/i.test(value);
      if (!attributes.has(name) || runs) one.removeAttribute(name);
    }
  }
  return [...body.children];
}

function carry({ el, page, card, tell, late, over }) {
  const ours = new WeakSet(); // pictures that were put here, and not by the front end
  const known = [0, 0, 0]; // the number of the newest of each that stood there
  let reached = false; // a display arrived since this was drawn: they all do
  let begun = false;
  let asked = false; // whether the kernel was asked for pictures,
  let since = null; // since when it does not answer,
  let told = 0; // and when it was told something last
  let newest = null; // the numbers of the newest pictures, as the kernel has said
  let ended = false; // nothing more will come
  let look, grace, words;

  // The numbers of the pictures that stand there now.
  function seen() {
    const numbers = card.places().map((place, n) => {
      const part = place.querySelector(".snb-part");
      return part ? Number(part.dataset.snbPaint ?? 0) : known[n];
    });
    return numbers.length ? numbers : [0, 0, 0];
  }

  const behind = () => seen().some((number, n) => number < newest[n]);

  function say(event) {
    told = performance.now();
    tell({ event, page, seen: seen() });
  }

  // Put pictures where the front end would; where there is no such place, above the box.
  function put(pictures, numbers) {
    if (!card.places().length) {
      const made = [0, 1, 2].map(() => make("div", ""));
      el.prepend(make("div", "snb-room", {}, ...made));
      card.settle(made);
    }
    const [show, stands] = [card.number(), seen()];
    for (const [n, place] of card.places().entries()) {
      if (pictures[n] === undefined || numbers[n] <= stands[n]) continue;
      const nodes = safe(pictures[n]);
      for (const node of nodes) ours.add(node);
      if (n === 0 && show && nodes.length) nodes.at(-1).dataset.snbShow = show;
      place.replaceChildren(...nodes);
      known[n] = numbers[n];
    }
  }

  function ask() {
    grace = undefined;
    if (reached || asked || !(behind() || ended)) return;
    asked = true;
    wait();
  }

  function wait() {
    since ??= performance.now();
    words ??= setTimeout(late, LATE_MS);
    say("watch");
  }

  function answered() {
    clearTimeout(words);
    [since, words] = [null, undefined];
    late();
  }

  return {
    // The view is in the page, and has a kernel.
    begin() {
      if (begun) return;
      begun = true;
      card.places(); // found now: what comes from here on is news
      look = setTimeout(() => reached || asked || say("look"), GRACE_MS);
    },
    hear({ pages, paint, pictures, over: last }) {
      if (!Array.isArray(pages) || reached) return;
      const mine = pages.includes(page);
      if (asked && pictures) {
        put(pictures, paint);
        if (mine) answered();
        // Who was forgotten sees what others are sent, and asks anew.
        if (!last && (!mine || performance.now() - told > WORD_MS)) say("watch");
      }
      if (!mine) return;
      [newest, ended] = [paint, ended || last];
      if (!asked) grace ??= setTimeout(ask, GRACE_MS);
      else if (last) over();
    },
    // A picture was put there, or stood there first. An older one is what the front end had kept, drawn
    // anew.
    came(n, part, first = false) {
      if (ours.has(part)) return;
      const number = Number(part.dataset.snbPaint);
      const newer = number > known[n];
      if (newer) known[n] = number;
      if (first) return;
      if (newer) {
        reached = true;
        if (asked) say("leave");
        asked = false;
        answered();
      } else if (asked && behind()) wait();
    },
    // Whether displays are known to arrive.
    reached: () => reached,
    late: () => since !== null && performance.now() - since >= LATE_MS,
    release() {
      if (asked) say("leave");
      for (const timer of [look, grace, words]) clearTimeout(timer);
    },
  };
}
