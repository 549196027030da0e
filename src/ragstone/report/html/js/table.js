// Every record's line, as columns; which of them a filter leaves, in which order.

/** Columns by name. Fields are named by whoever wrote the records: `__proto__` is a name like any other. */
const byName = () => Object.create(null);

/** The lines that have come so far. */
const table = {
  /** @type {number[]} */ position: [],
  /** @type {string[]} */ id: [],
  /** @type {string[]} */ question: [],
  /** @type {(string | null)[]} null where a record has none */ response: [],
  /** @type {Set<number>} lines of records that could not be read */ setAside: new Set(),
  /** @type {Record<string, (number | null)[]>} */ values: byName(),
  /** @type {Record<string, number[]>} places in first.statuses; -1 for no score */ statuses: byName(),
  /** @type {Record<string, (string | null)[]>} */ fields: byName(),
  /** @type {Map<number, number>} a record's place in the input to its line */ lines: new Map(),
  /** @type {string[]} what is searched, made when it is first needed */ searched: [],
  complete: false,
};

/** @param {any} block */
function addRows(block) {
  const before = table.position.length;
  for (const name of /** @type {const} */ (['position', 'id', 'question', 'response']))
    append(/** @type {any} */ (table[name]), block[name]);
  for (const line of block.set_aside) table.setAside.add(before + line);
  for (const kind of /** @type {const} */ (['values', 'statuses', 'fields'])) {
    for (const [name, column] of Object.entries(block[kind]))
      append(/** @type {any} */ (table[kind][name] ||= []), /** @type {any} */ (column));
  }
  block.position.forEach((/** @type {number} */ position, /** @type {number} */ line) =>
    table.lines.set(position, before + line),
  );
}

/** @param {any[]} column @param {any[]} more */
function append(column, more) {
  for (const value of more) column.push(value);
}

/** Read all lines, telling of each block that has come. @param {() => void} then */
async function readRows(then) {
  for (let number = 0; number < first.row_blocks; number++) {
    addRows(await block(`rows-${number}`));
    table.complete = number === first.row_blocks - 1;
    then();
  }
  table.complete = true;
  if (!first.row_blocks) then();
}

/** The lines that a state shows, in its order. @param {State} state @returns {number[]} */
function matching(state) {
  const tests = testsOf(state);
  const found = [];
  for (let line = 0; line < table.position.length; line++) if (tests.every((test) => test(line))) found.push(line);
  return sorted(found, state);
}

/** @param {State} state @returns {((line: number) => boolean)[]} */
function testsOf(state) {
  /** @type {((line: number) => boolean)[]} */
  const tests = [];
  if (state.status === 'set_aside') tests.push((line) => table.setAside.has(line));
  else if (state.status) {
    const code = first.statuses.indexOf(state.status);
    const columns = Object.values(table.statuses);
    tests.push((line) => columns.some((column) => column[line] === code));
  }
  if (state.field) {
    const column = table.fields[state.field] || [];
    tests.push((line) => column[line] === state.value);
  }
  if (state.below) {
    const column = table.values[state.below] || [];
    tests.push((line) => typeof column[line] === 'number' && /** @type {number} */ (column[line]) < 1);
  }
  for (const [metric, [low, high]] of Object.entries(state.ranges)) {
    const column = table.values[metric] || [];
    tests.push((line) => inside(column[line], low, high));
  }
  const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length) tests.push((line) => words.every((word) => searched(line).includes(word)));
  return tests;
}

/** @param {number | null | undefined} value @param {number} low @param {number} high */
function inside(value, low, high) {
  return typeof value === 'number' && value >= low - 1e-4 && value <= high + 1e-4;
}

/** @param {number} line */
function searched(line) {
  const told = () => [table.id[line], table.question[line], table.response[line]]; // what is null joins as nothing
  return (table.searched[line] ??= told().join('\n').toLowerCase());
}

/** @param {number[]} lines @param {State} state */
function sorted(lines, state) {
  const turn = state.down ? -1 : 1;
  if (state.sort === 'id') {
    const order = new Intl.Collator('en', { numeric: true });
    return lines.sort(
      (a, b) => turn * order.compare(table.id[a], table.id[b]) || table.position[a] - table.position[b],
    );
  }
  if (state.sort === 'position' || !table.values[state.sort])
    return lines.sort((a, b) => turn * (table.position[a] - table.position[b]));
  const column = table.values[state.sort];
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
