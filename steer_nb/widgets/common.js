// What the box below a lane and the rows of buttons have in common: the words for a kernel that is
// busy or gone, how an element is made, and who is in it. It is the first part of the module of each.

const SOON_MS = 100; // an answer within it needs no words about waiting
const LONG_MS = 10000;

const ENDED = "This belongs to a kernel that has ended. Run its cell again.";
const WAITS = "Waiting for the kernel: it is busy with a cell.";
const WAITS_LONG =
  "Still waiting for the kernel. If it was restarted meanwhile, run this cell again.";

function make(kind, css, attributes = {}, ...children) {
  const made = document.createElement(kind);
  if (css) made.className = css;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

// Whether a person is within, also right when it is taken away: some browsers tell of that as if the
// person had left.
function inhabited(root) {
  let within = false;
  root.addEventListener("focusin", () => (within = true));
  root.addEventListener("focusout", () => queueMicrotask(() => {
    if (root.isConnected && !root.contains(document.activeElement)) within = false;
  }));
  return () => {
    const now = document.activeElement;
    return within && (now === null || now === document.body || root.contains(now));
  };
}

function put(node, text) {
  if (node.textContent !== text) node.textContent = text; // said anew, it would be read out anew
}
