// Load data from blocks of this file, unpacked on demand, or from the server that sent the page.

/** @type {any} the data of the first screen */
const first = JSON.parse(document.getElementById('first').textContent || '{}');

const KEPT = 8;
/** @type {Map<string, Promise<any>>} the most recently unpacked blocks */
const unpacked = new Map();

/** @type {Promise<void>} resolved once the whole file is loaded */
const whole = new Promise((resolve) => {
  if (document.readyState === 'loading') document.addEventListener('DOMContentLoaded', () => resolve(), { once: true });
  else resolve();
});

/** Return a block by its name. @param {string} name @returns {Promise<any>} */
function block(name) {
  const found = unpacked.get(name) || (first.live ? fetched(name) : unpack(name));
  const forget = () => unpacked.get(name) === found && unpacked.delete(name);
  // Blocks that failed, or do not exist yet, are requested again next time.
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

/** Return a block from the server; null if it has none with that name. @param {string} name */
async function fetched(name) {
  const answer = await fetch(`data/${name}`).catch(() => null);
  if (!answer) throw new Error('The server cannot be reached; is ragstone view still running?');
  if (answer.status === 404) return null;
  if (answer.status === 409) throw new Error(await answer.text());
  if (!answer.ok) throw new Error(`The server returned ${answer.status}; the terminal of ragstone view may say why.`);
  return answer.json();
}

/**
 * Return the location of each record in the blocks of one kind.
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

/** Return a record by its input position; null if this file or the server lacks it. @param {number} position */
async function recordAt(position) {
  if (first.live) return block(`record-${position}`);
  const at = caseAt.get(position);
  return at ? (await block(`cases-${at[0]}`))[at[1]] : null;
}

/** Return the raw calls of a record; null if this file does not have them. @param {number} position */
async function rawCalls(position) {
  if (first.live) return block(`calls-${position}`);
  const at = callsAt.get(position);
  return at ? (await block(`calls-${at[0]}`))[at[1]] : null;
}
