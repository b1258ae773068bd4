// Scrolling in a card that is painted meanwhile: by wheel, by key, by its bar.
//
// A browser scrolls bit by bit, and partly aside from the page: it stops, or moves nothing, where the
// box is replaced meanwhile, as each picture does ten times a second. Here it is done at once, and is
// known before the next picture. Where nothing is painted it is the browser's own affair.

const PAINTED_MS = 1000; // what was painted so lately is painted again soon
const TURN_MS = 200; // a turn of a wheel goes on for so long after its last move
const LINE_PX = 18; // some browsers count a wheel in lines

function turning(scrolled) {
  const painted = new WeakMap(); // picture's place -> when it was painted last
  let moved = -Infinity; // when a wheel moved something last
  let grip = null; // the bar that a person drags

  function by(box, across, down) {
    const { scrollLeft, scrollTop } = box;
    const { overflowX, overflowY } = getComputedStyle(box);
    const whole = box === document.scrollingElement;
    const free = (overflow) => whole || overflow === "auto" || overflow === "scroll";
    const [left, top] = [free(overflowX) ? across : 0, free(overflowY) ? down : 0];
    box.scrollBy({ left, top, behavior: "instant" });
    if (box.scrollLeft === scrollLeft && box.scrollTop === scrollTop) return false;
    scrolled({ target: box });
    return true;
  }

  function wheel(event) {
    const { target, currentTarget: host, deltaX, deltaY, deltaMode } = event;
    const now = performance.now();
    const plain = !(event.ctrlKey || event.metaKey || event.altKey || event.shiftKey);
    if (!plain || event.defaultPrevented || !(now - painted.get(host) < PAINTED_MS)) return;
    for (let box = target; box !== null; box = box.parentElement) {
      const within = host.contains(box);
      // Who turns on at the end of a box does not move the notebook with the same turn.
      if (!within && now - moved < TURN_MS) return void event.preventDefault();
      const unit = [1, LINE_PX, box.clientHeight][deltaMode];
      if (!by(box, deltaX * unit, deltaY * unit)) continue;
      if (within) moved = now;
      return void event.preventDefault();
    }
  }

  function leaf(event) {
    const { key, target: box, shiftKey } = event;
    const page = Math.max(box.clientHeight - 40, 40);
    const far = {
      PageUp: -page, PageDown: page, " ": shiftKey ? -page : page,
      Home: -box.scrollHeight, End: box.scrollHeight,
    };
    const plain = !(event.ctrlKey || event.metaKey || event.altKey || (shiftKey && key !== " "));
    if (!plain || !(key in far) || !box.matches(SCROLLS)) return;
    event.preventDefault();
    by(box, 0, far[key]);
  }

  // Whether a person takes hold of a bar. A browser lets go of it where its box is replaced: from
  // then on the mouse is followed here, from where it was when the box was scrolled last.
  function grasp({ button, target: box, currentTarget: host, clientY, offsetX, offsetY }) {
    const within = offsetX >= 0 && offsetX < box.clientWidth && offsetY < box.clientHeight;
    const bar = button === 0 && !within && box.matches(SCROLLS);
    grip = bar ? { box, host, clientY, top: box.scrollTop, last: box.scrollTop } : null;
    return bar;
  }

  function drag({ clientY, buttons }) {
    if (!(buttons & 1)) grip = null;
    if (grip === null || grip.box?.isConnected) return;
    const box = grip.host.querySelector(SCROLLS);
    if (box === null) return;
    const far = box.scrollHeight / box.clientHeight;
    const was = grip.clientY + (grip.last - grip.top) / far;
    by(box, 0, (clientY - was) * far);
    grip = { ...grip, box: null, clientY, top: 0, last: 0 };
  }

  return {
    grasp,
    scrolled(box) {
      if (grip?.box === box) grip.last = box.scrollTop;
    },
    painted: (host) => painted.set(host, performance.now()),
    // Listen to a picture's place, or no longer.
    listen(host, word) {
      host[word]("wheel", wheel, { passive: false });
      host[word]("keydown", leaf);
      document[word]("mousemove", drag);
    },
  };
}
