// What the box below a lane and the rows of buttons have in common: the words for a kernel that is
// busy or gone, and how an element is made. It is the first part of the module of each.

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

function put(node, text) {
  if (node.textContent !== text) node.textContent = text; // said anew, it would be read out anew
}
