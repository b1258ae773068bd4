// The page's half of the box below a lane; the kernel's half is box.py.
//
// What is typed is told to the kernel after a quiet moment, what is done in one message of its own.
// Each view counts what it was given to tell: once the kernel has heard all of it, the kernel's
// text is newer than the view's and is shown; before that nobody's typing is replaced.
// An action is numbered by its step. The kernel takes one for each step and begins the next, so that
// a second press, in another display or another page, finds its step gone.
// `hold`, which keeps what a reader did in the card above, is in card.js; `carry`, which asks for that
// card where it stands still, in carry.js; what it shares with the rows of buttons is in common.js,
// and scrolling in turn.js: the five are one module.

const QUIET_MS = 300; // a pause in typing
const LATEST_MS = 2000; // who types without a pause is heard at the latest then

const EMPTY = "Type something first.";

function render({ model, el }) {
  const page = Array.from(crypto.getRandomValues(new Uint32Array(2)), (n) => n.toString(36)).join("");
  const lane = model.get("lane");
  const id = (what) => `snb-${what}-${page}`;
  const keys = /Mac|iPhone|iPad/.test(navigator.platform) ? "⌘+Enter" : "Ctrl+Enter";

  const area = make("textarea", "", {
    id: id("text"), rows: "1", dir: "auto", "aria-describedby": id("hint"),
  });
  const label = make("label", "snb-unseen", { for: id("text") }, `What to say to ${lane}`);
  const send = make("button", "snb-go", {
    type: "submit", "aria-keyshortcuts": "Control+Enter Meta+Enter",
  });
  const status = make("p", "snb-said", { role: "status", dir: "auto" });
  const hint = make("span", "snb-hint", { id: id("hint") }, `${keys} sends`);
  const fork = make("button", "", {
    type: "button", "aria-expanded": "false", "aria-controls": id("fork"),
    title: `Continue from what ${lane} has said, on a new lane`,
  }, "Fork");
  fork.hidden = !model.get("forks");
  const stop = make("button", "", {
    type: "button", title: `Leave the picture of ${lane} as it is; the lane goes on`,
  }, "Stop watching");
  const cancel = make("button", "", {
    type: "button", title: `Ask the server to stop what ${lane} does, or to release it`,
  }, "Cancel");
  const name = make("input", "", {
    id: id("name"), type: "text", dir: "auto", autocomplete: "off", spellcheck: "false",
  });
  const open = make("button", "", { type: "submit" }, "Open the fork");
  const forking = make("form", "snb-fork", { id: id("fork"), "aria-label": `Fork ${lane}` },
    make("label", "", { for: id("name") }, "Name of the new lane"), name, open);
  forking.hidden = true;
  const talking = make("form", "snb-line", { "aria-label": `Talk to ${lane}` }, label, area, send);
  const foot = make("div", "snb-line snb-under", {}, status, hint, fork, cancel, stop);
  const root = make("div", "snb-talk", {}, talking, foot, forking);
  el.replaceChildren(root);
  const card = hold(el, { name: model.get("card"), came: (...what) => carried.came(...what) });
  const carried = carry({ el, page, card, tell: transmit, late: () => say(), over });

  let given = 0; // what was typed or done here,
  let told = 0; // how much of it was sent,
  let asked = null; // and what of it waits for its answer here
  let quiet, latest, soon, long;
  let ended = false;

  const heard = () => model.get("heard")[page] ?? 0;
  const waits = () => model.get("pressed") === model.get("step");
  const dead = () => ended || waits() || model.get("busy");

  const post = (content) => transmit({ text: area.value, page, ...content });
  function transmit(content) {
    if (ended) return;
    try {
      model.send(content);
    } catch (error) {
      ended = true; // there is no kernel to send to
      console.warn(error);
      update();
    }
  }

  // -- typing --------------------------------------------------------------------------------

  const grows = !CSS.supports("field-sizing", "content");
  function grow() {
    if (!grows) return;
    area.style.height = "auto";
    if (area.scrollHeight) area.style.height = `${area.scrollHeight + 2}px`;
  }

  function tell() {
    clearTimeout(quiet);
    clearTimeout(latest);
    quiet = latest = undefined;
    if (told === given || ended) return;
    told = given;
    post({ event: "typed", number: given });
  }

  function patient() {
    // A busy kernel hears the newest text when it is free, and not each one before.
    quiet = latest = undefined;
    if (heard() >= told) tell();
  }

  area.addEventListener("input", () => {
    given += 1;
    grow();
    say();
    clearTimeout(quiet);
    quiet = setTimeout(patient, QUIET_MS);
    latest ??= setTimeout(patient, LATEST_MS);
  });
  area.addEventListener("blur", tell);
  // Who reloads the page, or leaves it, right after the last key.
  addEventListener("pagehide", tell);
  document.addEventListener("visibilitychange", tell);

  // -- doing ---------------------------------------------------------------------------------

  function act(event, more = {}) {
    if (dead()) return;
    clearTimeout(quiet);
    clearTimeout(latest);
    quiet = latest = undefined;
    told = given += 1;
    asked = event;
    const step = model.get("step");
    model.set("pressed", step); // never saved: it is for the other views on this page
    post({ event, number: given, step, ...more });
    update();
  }

  function speak() {
    if (area.value.trim()) act("say");
    else if (!dead()) put(status, EMPTY);
  }
  talking.addEventListener("submit", (event) => {
    event.preventDefault();
    speak();
  });
  talking.addEventListener("keydown", (event) => {
    if (event.isComposing) return;
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      event.stopPropagation();
      speak();
    } else if (event.key === "Escape" && event.target === area) {
      area.blur();
      el.closest(".jp-Notebook")?.focus(); // to its command mode, as from a cell
    }
  });
  // A notebook takes plain keys for its own: Enter would edit the cell. Ctrl+S still saves it.
  root.addEventListener("keydown", (event) => {
    const plain = !(event.ctrlKey || event.metaKey || event.altKey);
    if (plain && event.key !== "Escape") event.stopPropagation();
  });

  function unfold(open) {
    forking.hidden = !open;
    fork.setAttribute("aria-expanded", String(open));
    (open ? name : fork).focus();
  }
  fork.addEventListener("click", () => ended || unfold(forking.hidden));
  forking.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    unfold(false);
  });
  forking.addEventListener("submit", (event) => {
    event.preventDefault();
    act("fork", { name: name.value, show: carried.reached() ? card.number() : 0 });
  });
  cancel.addEventListener("click", () => act("cancel"));
  stop.addEventListener("click", () => act("stop"));

  // When the box is taken away, whoever is in it goes on from the card, not from nowhere.
  const within = inhabited(root);
  function leave() {
    if (within()) card.focus();
  }

  // Where no display arrives, none takes the box away when its lane is over.
  function over() {
    leave();
    root.hidden = true;
    for (const one of el.closest(".snb-say")?.children ?? []) {
      if (!one.contains(el) && !one.matches(".snb-say")) one.style.display = "none";
    }
  }

  // -- showing -------------------------------------------------------------------------------

  function say() {
    const waiting = !ended && waits();
    if (!waiting) {
      clearTimeout(soon);
      clearTimeout(long);
      soon = long = undefined;
    } else if (soon === undefined) {
      soon = setTimeout(() => waits() && put(status, WAITS), SOON_MS);
      long = setTimeout(() => waits() && put(status, WAITS_LONG), LONG_MS);
    }
    status.classList.toggle("snb-bad", ended || (!waiting && model.get("bad")));
    if (ended) put(status, ENDED);
    else if (!waiting) put(status, model.get("said") || (carried.late() ? BEHIND : ""));
  }

  function update() {
    const verb = model.get("verb");
    put(send, verb);
    send.title = `${verb}: ${lane} (${keys})`;
    area.placeholder = verb === "Steer" ? `Steer ${lane} …` : `Say something to ${lane} …`;
    const value = model.get("value").replace(/\r\n?/g, "\n"); // as a field holds it
    if (heard() >= given && area.value !== value) {
      area.value = value;
      grow();
    } else if (told < given && heard() >= told && quiet === undefined) {
      tell();
    }
    const gone = !model.get("cancels");
    if (gone && !cancel.hidden && document.activeElement === cancel) area.focus();
    cancel.hidden = gone;
    for (const button of [send, open, cancel, stop]) button.setAttribute("aria-disabled", String(dead()));
    fork.setAttribute("aria-disabled", String(ended));
    root.classList.toggle("snb-ended", ended);
    if (asked !== null && !dead()) {
      if (asked === "fork" && !model.get("bad") && !forking.hidden) {
        name.value = "";
        unfold(false);
      }
      asked = null;
    }
    say();
  }

  function alive() {
    ended = el.closest(".jupyter-widgets-disconnected") !== null;
    update();
    if (!ended) carried.begin();
  }
  const look = () => setTimeout(alive); // ipywidgets marks what lost its kernel after it says so

  model.on("change", update);
  model.on("comm_live_update", look);
  model.on("msg:custom", carried.hear);
  update();
  look();
  requestAnimationFrame(grow);
  return () => {
    tell();
    leave();
    carried.release();
    card.release();
    removeEventListener("pagehide", tell);
    document.removeEventListener("visibilitychange", tell);
    model.off("change", update);
    model.off("comm_live_update", look);
    model.off("msg:custom", carried.hear);
    for (const timer of [quiet, latest, soon, long]) clearTimeout(timer);
  };
}

export default { render };
