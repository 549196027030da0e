// The table's rows, as columns, with filtering and sorting.

/** Columns by name. Names of fields come from the records, so even `__proto__` is an ordinary name. */
const byName = () => Object.create(null);

/** The rows loaded so far. */
const table = {
  position: [],
  id: [],
  /** @type {string[]} in a served page, only for rows that were shown */ question: [],
  /** @type {(string | null)[]} null if a record has none; loaded like questions */ response: [],
  /** @type {Set<number>} rows of unreadable records */ setAside: new Set(),
  values: byName(),
  /** @type {Record<string, number[]>} indexes into first.statuses; -1 for no score */ statuses: byName(),
  /** @type {Record<string, number[]>} kinds of verdicts as bits, see KINDS */ verdicts: byName(),
  /** @type {Record<string, number[]>} places in first.missing, from 1; 0 for none */ reasons: byName(),
  fields: byName(),
  /** @type {number[]} number of rows of each block */ sizes: [],
  /** Number of blocks whose results were read. */ read: 0,
  /** @type {Map<number, number>} a record's position in the input to its row */ lines: new Map(),
  /** @type {string[]} whole texts, once loaded */ texts: [],
  /** @type {(string | undefined)[]} searched text, computed on first use */ searched: [],
  complete: false,
  /** Progress of loading: whole texts in a file; results, with verdicts and fields, in a served run. */
  whole: { asked: false, read: 0, complete: false },
  /** The server's last search: the matching records, and the number searched; -1 if it failed. */
  found: { q: '', read: 0, places: new Set() },
};

/** Milliseconds between redraws while data is loading. */
const PATIENCE = 400;
/** Number of characters of a text that its row shows on any screen. */
const IN_SIGHT = 32;
/** Number of characters shown before a search match: few, so that the match itself is visible. */
const AROUND = 16;

/** Redraws that wait for a button to be released: a click is lost if the pressed element is replaced. */
const delayed = new Set();
let pressed = false;
/** Redraw because data have arrived. @param {() => void} then */
function redraw(then) {
  if (pressed) delayed.add(then);
  else then();
}
addEventListener('pointerdown', (event) => {
  pressed = event.button === 0;
});
for (const end of ['pointerup', 'pointercancel', 'contextmenu'])
  addEventListener(end, () =>
    setTimeout(() => {
      pressed = false;
      for (const then of delayed) then();
      delayed.clear();
    }),
  );

/** @type {() => void} */
let allLines = () => {};
/** @type {Promise<void>} resolved once all rows are loaded */
const linesThere = new Promise((resolve) => {
  allLines = resolve;
});

function addRows(block) {
  const before = table.position.length;
  for (const name of ['position', 'id', 'question', 'response']) append(table[name], block[name] || []);
  for (const line of block.set_aside) table.setAside.add(before + line);
  addColumns(block, before);
  table.sizes.push(block.position.length);
  block.position.forEach((position, line) => table.lines.set(position, before + line));
}

/** @param {any} block @param {number} before number of rows before the block */
function addColumns(block, before) {
  for (const kind of ['values', 'statuses', 'verdicts', 'reasons', 'fields']) {
    for (const [name, more] of Object.entries(block[kind] || {})) {
      const column = (table[kind][name] ||= []);
      while (column.length < before) column.push(0); // no verdicts of this metric so far
      append(column, more);
    }
  }
}

/** @param {any[]} column @param {any[]} more */
function append(column, more) {
  for (const value of more) column.push(value);
}

/**
 * Read blocks one after another, calling `then` from time to time as they arrive.
 * @param {string} kind @param {number} from @param {number} to @param {(block: any, number: number) => void} add
 * @param {() => void} then @param {number} told time of the last call @param {number} patience pause between calls
 */
async function readBlocks(kind, from, to, add, then, told = performance.now(), patience = PATIENCE) {
  for (let number = from; number < to; number++) {
    add(await block(`${kind}-${number}`), number);
    if (performance.now() - told < patience) continue;
    then();
    told = performance.now();
  }
}

/** Read all rows. @param {() => void} then */
async function readRows(then) {
  await readBlocks('rows', 0, first.row_blocks, addRows, then, -PATIENCE);
  table.complete = true;
  allLines();
  then();
  if (!first.live) return;
  const lowest = block('worst-0').then((found) => {
    first.worst = found;
  });
  await Promise.all([lowest, readResults(then)]);
}

/** Read verdict kinds and fields from a served run's results, from where it stopped. @param {() => void} then */
async function readResults(then) {
  if (table.whole.asked) return;
  table.whole.asked = true;
  const add = (found, number) => {
    addColumns(found, table.whole.read);
    table.whole.read += table.sizes[number];
    table.read++;
  };
  try {
    await readBlocks('more', table.read, table.sizes.length, add, then, performance.now(), 4 * PATIENCE);
  } catch (error) {
    table.whole.asked = false; // the next search tries again
    throw error;
  }
  table.whole.complete = true;
  performance.mark('results');
  then();
}

/** Whether the fields to group by are loaded. */
function fieldsThere() {
  return first.live ? table.whole.complete : table.complete;
}

/** Read the texts of the rows being shown, if only the server has them. @param {number[]} lines */
async function readLines(lines) {
  const wanted = first.live ? lines.filter((line) => table.question[line] === undefined) : [];
  if (!wanted.length) return false;
  const found = await fetched(`lines-${wanted.map((line) => table.position[line])}`);
  for (const line of wanted) table.question[line] = '';
  for (const [position, question, response, text] of found) {
    const line = table.lines.get(position) ?? -1;
    table.question[line] = question;
    table.response[line] = response;
    table.texts[line] = text;
    table.searched[line] = undefined;
  }
  return true;
}

/** Ask the server which records contain the words; ask again once it has read more. @param {() => void} then */
async function askServer(then) {
  const { q } = now;
  if (table.found.q === q && table.found.read >= table.whole.read) return;
  let told;
  try {
    told = await fetched(`search-${table.read}-${encodeURIComponent(q)}`);
  } catch (error) {
    table.found = { q, read: -1, places: new Set() };
    throw error;
  }
  if (q !== now.q) return;
  table.found = { q, read: told.read, places: new Set(told.found) };
  then();
}

/** Read the whole texts for searching, once, calling `then` from time to time. @param {() => void} then */
async function readTexts(then) {
  if (first.live) {
    await linesThere;
    // Wait for both before reporting a failure of either: the status of the search depends on the other one.
    const both = await Promise.allSettled([readResults(then), askServer(then)]);
    for (const one of both) if (one.status === 'rejected') throw one.reason;
    return;
  }
  if (table.whole.asked) return;
  table.whole = { asked: true, read: 0, complete: false };
  await linesThere;
  try {
    await readBlocks('texts', 0, first.text_blocks, addTexts, then);
  } catch (error) {
    table.whole = { ...table.whole, asked: false, complete: true }; // the next search tries again
    throw error;
  }
  table.whole.complete = true;
  performance.mark('texts');
  then();
}

/** @param {[number, string][]} found the positions of records in the input, with their texts */
function addTexts(found) {
  for (const [position, text] of found) {
    const line = table.lines.get(position);
    if (line === undefined) continue;
    table.texts[line] = text;
    table.searched[line] = undefined;
    table.whole.read++;
  }
}

/** All rows in an order, which filters do not change. */
const inOrder = remembering(
  (sort, down) => sorted([...table.position.keys()], sort, down),
  () => table.position.length,
);

/** The rows that match a state, in its order. @param {State} state @returns {number[]} */
function matching(state) {
  const order = inOrder(state.sort, state.down);
  const tests = testsOf(state);
  return tests.length ? order.filter((line) => tests.every((test) => test(line))) : order;
}

/** @param {State} state @returns {((line: number) => boolean)[]} */
function testsOf(state) {
  /** @type {((line: number) => boolean)[]} */
  const tests = [];
  if (state.status === 'set_aside') tests.push((line) => table.setAside.has(line));
  else if (state.status) {
    const code = first.statuses.indexOf(state.status);
    const columns = state.judged ? [table.statuses[state.judged] || []] : Object.values(table.statuses);
    tests.push((line) => columns.some((column) => column[line] === code));
    const reason = state.reason ? 1 + first.missing.findIndex((one) => one.reason === state.reason) : 0;
    const reasons = table.reasons[state.judged] || [];
    if (reason) tests.push((line) => reasons[line] === reason);
  }
  if (state.field) {
    const column = table.fields[state.field] || [];
    tests.push((line) => column[line] === state.value);
  }
  if (state.below) {
    const column = table.values[state.below] || [];
    tests.push((line) => typeof column[line] === 'number' && column[line] < 1);
  }
  for (const [metric, [low, high]] of Object.entries(state.ranges)) {
    const column = table.values[metric] || [];
    tests.push((line) => inside(column[line], low, high));
  }
  if (state.verdict || (state.judged && !state.status)) {
    const bits = state.verdict ? 1 << KINDS.indexOf(state.verdict) : ~0;
    const columns = state.judged ? [table.verdicts[state.judged] || []] : Object.values(table.verdicts);
    tests.push((line) => columns.some((column) => column[line] & bits));
  }
  const words = wordsOf(state);
  const { q, places } = table.found;
  if (words.length && first.live) tests.push((line) => !q || places.has(table.position[line]));
  else if (words.length) tests.push((line) => words.every((word) => searched(line).includes(word)));
  return tests;
}

/**
 * Whether a value is in a range; both have four decimals.
 * @param {number | null | undefined} value @param {number} low @param {number} high
 */
function inside(value, low, high) {
  return typeof value === 'number' && value > low - 5e-5 && value < high + 5e-5;
}

/** The words of a search. @param {State} state */
function wordsOf(state) {
  return state.q.toLowerCase().split(/\s+/).filter(Boolean);
}

/**
 * The id of a record and the beginnings of its texts, which are loaded with its row.
 * @param {number} line @param {number} [most] maximum number of characters of each text
 */
function beginnings(line, most = Infinity) {
  const texts = [table.question[line], table.response[line]].map((text) => (text || '').slice(0, most));
  return [table.id[line], ...texts].join('\n');
}

/** The texts of a record: whole if loaded, else their beginnings. @param {number} line */
function textsOf(line) {
  return table.texts[line] ?? beginnings(line);
}

/** @param {number} line */
function searched(line) {
  return (table.searched[line] ??= textsOf(line).toLowerCase());
}

/**
 * The first matching word of a search that the row does not show, with the text around it.
 * @param {number} line @param {string[]} words
 * @returns {[string, string, string] | null} null if the row shows all words
 */
function foundIn(line, words) {
  const shown = beginnings(line, IN_SIGHT).toLowerCase();
  const word = words.find((one) => !shown.includes(one));
  if (word === undefined) return null;
  const text = textsOf(line);
  const start = searched(line).indexOf(word),
    end = start + word.length;
  if (start < 0 || searched(line).length !== text.length) return null; // lower case may change a text's length
  const before = text.slice(Math.max(0, start - AROUND), start),
    after = text.slice(end, end + 8 * AROUND);
  return [start > AROUND ? before.replace(/^\S*/, '\u2026') : before, text.slice(start, end), after];
}

/** @param {number[]} lines @param {string} sort @param {boolean} down */
function sorted(lines, sort, down) {
  const turn = down ? -1 : 1;
  if (sort === 'id') {
    const order = new Intl.Collator('en', { numeric: true });
    return lines.sort(
      (a, b) => turn * order.compare(table.id[a], table.id[b]) || table.position[a] - table.position[b],
    );
  }
  const column = table.values[sort];
  if (sort === 'position' || !column) return lines.sort((a, b) => turn * (table.position[a] - table.position[b]));
  return lines.sort((a, b) => {
    const one = column[a] ?? null,
      other = column[b] ?? null;
    if (one === null || other === null)
      return Number(one === null) - Number(other === null) || table.position[a] - table.position[b];
    return turn * (one - other) || table.position[a] - table.position[b];
  });
}

/** Whether anything is filtered. @param {State} state */
function filtered(state) {
  return FILTERS.some((name) => state[name]) || Object.keys(state.ranges).length > 0;
}
