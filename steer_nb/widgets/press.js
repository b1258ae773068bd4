// The page's half of a row of buttons that act; the kernel's half is press.py.
//
// A press is numbered by its step, as in box.js: the kernel takes one for each step and begins the
// next. Until it has, no button of the row can be pressed, in no display on this page, and the line
// below says what is waited for. What ipywidgets' own controls tell the kernel is followed by a
// message of this row's: once that is heard, the kernel is not busy. Until then ipywidgets may hold
// back what was typed last, in the page; when that is left it is told here.

function render({ model, el }) {
  const page = Array.from(crypto.getRandomValues(new Uint32Array(2)), (n) => n.toString(36)).join("");
  const hint = make("span", "snb-hint", { dir: "auto" });
  const status = make("p", "snb-said", { role: "status", dir: "auto" });
  const buttons = model.get("buttons").map((_, index) => {
    const made = make("button", "", { type: "button" });
    made.addEventListener("click", () => press(index));
    return made;
  });
  const [first, ...rest] = buttons;
  const root = make("div", "snb-press", {}, make("div", "snb-line", {}, first, hint, ...rest), status);
  el.replaceChildren(root);

  let told = 0; // how many messages were sent
  let more = false; // whether something was changed since
  let soon, long, later;
  let ended = false;

  const heard = () => model.get("heard")[page] ?? 0;
  const waits = () => model.get("pressed") === model.get("step");
  const waiting = () => !ended && (waits() || heard() < told);

  function post(content) {
    told += 1;
    try {
      model.send({ page, number: told, ...content });
    } catch (error) {
      ended = true; // there is no kernel to send to
      console.warn(error);
    }
    update();
  }

  function press(index) {
    if (ended || waits() || model.get("buttons")[index].disabled) return;
    const step = model.get("step");
    model.set("pressed", step); // never saved: it is for the other views on this page
    post({ event: "press", button: index, step });
  }

  // A notebook takes plain keys for its own: Enter would edit the cell. Ctrl+S still saves it.
  root.addEventListener("keydown", (event) => {
    const plain = !(event.ctrlKey || event.metaKey || event.altKey);
    if (plain && event.key !== "Escape") event.stopPropagation();
  });

  // -- what is changed around it ---------------------------------------------------------------

  function follow() {
    later = undefined;
    more = heard() < told;
    if (!more && !ended) post({ event: "changed" });
  }

  function stands({ target }) {
    const around = model.get("follows") ? target.closest?.(model.get("follows")) : null;
    return around?.contains(el) ?? false;
  }
  function changed(event) {
    if (stands(event)) later ??= setTimeout(follow, SOON_MS);
  }
  // At the document: when this is drawn it does not stand in its place yet.
  document.addEventListener("input", changed, true);

  // -- when the page is left, or a field: a notebook that is closed in its page says nothing -----

  const fields = new Map(); // the controls that are kept, by model
  const touched = new Set(); // those that a person changed, and that may be held back

  async function watch(id, name) {
    const mine = { read() {}, show() {}, release() {} };
    fields.set(id, mine);
    try {
      const field = await model.widget_manager.get_model(id);
      if (fields.get(id) !== mine) return;
      mine.read = () => field.get(name);
      mine.show = (value) => field.set_state({ [name]: value }); // and tells nobody
      // A view says that it made the change; what the kernel changed is known there.
      const changes = (_, __, by) => by?.updated_view && touched.add(id);
      field.on(`change:${name}`, changes);
      mine.release = () => field.off(`change:${name}`, changes);
    } catch (error) {
      console.warn(error);
    }
  }
  function know() {
    const now = model.get("fields");
    for (const [id, mine] of fields) {
      if (id in now) continue;
      mine.release();
      fields.delete(id);
      touched.delete(id);
    }
    const added = Object.entries(now).filter(([id]) => !fields.has(id));
    return Promise.all(added.map(([id, name]) => watch(id, name)));
  }

  // A page that is loaded anew may have asked for its state before what the last one told was heard.
  function ask() {
    if (fields.size > 0 && !ended) model.send({ event: "came", page });
  }
  function hear({ page: asked, shown }) {
    if (asked !== page) return;
    for (const [id, value] of Object.entries(shown)) {
      const mine = fields.get(id);
      if (mine && !touched.has(id) && mine.read() !== value) mine.show(value);
    }
  }

  const quiet = () => later === undefined && !more && heard() >= told;
  function tell() {
    if (ended || quiet() || touched.size === 0) return;
    const shown = Object.fromEntries([...touched].map((id) => [id, fields.get(id).read()]));
    touched.clear(); // it is on its way, whatever becomes of the page
    post({ event: "left", shown });
  }
  const left = (event) => stands(event) && tell();
  document.addEventListener("focusout", left, true);
  addEventListener("pagehide", tell);
  document.addEventListener("visibilitychange", tell);

  // -- when it is over -------------------------------------------------------------------------

  // A form that is over gives way to its record, which stands in front of it with its mark: whoever
  // pressed here goes on from there, not from nowhere.
  const within = inhabited(root);
  let record = null; // its place, which stays
  root.addEventListener("focusin", () => {
    const marks = [...(el.closest(".snb-forms")?.classList ?? [])];
    const before = (one) => el.compareDocumentPosition(one) & Node.DOCUMENT_POSITION_PRECEDING;
    const ours = (one) => marks.some((mark) => one.classList.contains(mark));
    const kept = [...document.querySelectorAll(".snb-kept")].filter((one) => ours(one) && before(one));
    record = kept.at(-1)?.closest(".steer-nb").parentElement ?? null;
  });
  function leave() {
    if (!within()) return;
    const place = record;
    setTimeout(() => {
      const home = place?.querySelector(".steer-nb");
      const now = document.activeElement;
      if (!home || (now !== null && now !== document.body)) return;
      home.tabIndex = -1;
      home.focus({ preventScroll: true });
    });
  }

  // -- showing -----------------------------------------------------------------------------------

  function say() {
    if (!waiting()) {
      clearTimeout(soon);
      clearTimeout(long);
      soon = long = undefined;
      // What stands around it says itself that it has lost its kernel.
      const marked = el.closest(".snb-widget.jupyter-widgets-disconnected");
      put(status, ended ? (marked ? "" : ENDED) : model.get("said"));
    } else if (soon === undefined) {
      soon = setTimeout(() => waiting() && put(status, WAITS), SOON_MS);
      long = setTimeout(() => waiting() && put(status, WAITS_LONG), LONG_MS);
    }
  }

  function update() {
    model.get("buttons").forEach(({ text, title, css, disabled, down }, index) => {
      const button = buttons[index];
      put(button, text);
      button.title = title;
      button.className = css;
      button.setAttribute("aria-disabled", String(disabled || ended || waits()));
      if (down !== null) button.setAttribute("aria-pressed", String(down));
    });
    put(hint, model.get("hint"));
    if (more && heard() >= told) follow();
    if (quiet()) touched.clear();
    say();
  }

  function alive() {
    ended = el.closest(".jupyter-widgets-disconnected") !== null;
    update();
  }
  const look = () => setTimeout(alive); // ipywidgets marks what lost its kernel after it says so

  model.on("change", update);
  model.on("change:fields", know);
  model.on("comm_live_update", look);
  model.on("msg:custom", hear);
  know().then(ask).catch((error) => console.warn(error)); // there may be no kernel to ask
  update();
  look();
  return () => {
    tell();
    leave();
    document.removeEventListener("focusout", left, true);
    removeEventListener("pagehide", tell);
    document.removeEventListener("visibilitychange", tell);
    for (const mine of fields.values()) mine.release();
    fields.clear();
    model.off("change", update);
    model.off("change:fields", know);
    model.off("msg:custom", hear);
    model.off("comm_live_update", look);
    document.removeEventListener("input", changed, true);
    for (const timer of [soon, long, later]) clearTimeout(timer);
  };
}

export default { render };
