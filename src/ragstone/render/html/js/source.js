// Where the data come from: blocks of this file, unpacked when they are needed, or the server that sent the page.

/** @type {any} what the first screen needs */
const first = JSON.parse(/** @type {HTMLElement} */ (document.getElementById('first')).textContent || '{}');

const KEPT = 8;
/** @type {Map<string, Promise<any>>} the blocks that were unpacked last */
const unpacked = new Map();

/** @type {Promise<void>} the whole file is there */
const whole = new Promise((resolve) => {
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', () => resolve(), { once: true });
  else resolve();
});

/** A block by its name. @param {string} name @returns {Promise<any>} */
function block(name) {
  const found = unpacked.get(name) || (first.live ? fetched(name) : unpack(name));
  const forget = () => unpacked.get(name) === found && unpacked.delete(name);
  // What failed, or is not there yet, is asked for anew the next time.
  found.then((content) => content === null && forget(), forget);
  unpacked.delete(name);
  unpacked.set(name, found);
  if (unpacked.size > KEPT) unpacked.delete(unpacked.keys().next().value || '');
  return found;
}

/** @param {string} name */
async function unpack(name) {
  let holder = document.getElementById(name);
  if (!holder || document.readyState === 'loading') {
    await whole;
    holder = document.getElementById(name);
  }
  if (!holder) throw new Error(`this file has no part ${name}; was it cut off?`);
  const packed = Uint8Array.from(atob(holder.textContent || ''), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Response(stream).json();
}

/** A block from the server; null where it has none of that name. @param {string} name */
async function fetched(name) {
  const answer = await fetch(`data/${name}`).catch(() => null);
  if (!answer) throw new Error('The server cannot be reached; is ragstone view still running?');
  if (answer.status === 404) return null;
  if (!answer.ok) throw new Error(`The server returned ${answer.status}; the terminal of ragstone view may say why.`);
  return answer.json();
}

/**
 * Where records lie in the blocks of one kind.
 * @param {number[][] | undefined} blocks
 * @returns {Map<number, [number, number]>}
 */
function whereabouts(blocks) {
  const found = new Map();
  (blocks || []).forEach((positions, number) =>
    positions.forEach((position, place) => found.set(position, [number, place])),
  );
  return found;
}

const caseAt = whereabouts(first.cases);
const callsAt = whereabouts(first.calls);

/** A record by its place in the input; null where this file or the server does not hold it. @param {number} position */
async function recordAt(position) {
  if (first.live) return block(`record-${position}`);
  const at = caseAt.get(position);
  return at ? (await block(`cases-${at[0]}`))[at[1]] : null;
}

/** The raw calls of a record; null where this file does not hold them. @param {number} position */
async function rawCalls(position) {
  if (first.live) return block(`calls-${position}`);
  const at = callsAt.get(position);
  return at ? (await block(`calls-${at[0]}`))[at[1]] : null;
}
