// The parts of one record: its units with their verdicts and evidence, and their places in its texts.

/**
 * @typedef {{passage: string, start?: number, end?: number, text?: string, verbatim?: boolean}} Quote
 * @typedef {object} Entry a unit with one metric's verdict on it
 * @property {any} unit @property {any} verdict @property {Kind} kind @property {string} word @property {Quote[]} quotes
 * @property {{start: number, end: number}[]} spans its places in the response
 * @property {string[]} special bases of a traced sentence other than context sentences
 * @typedef {{metric: string, entries: Entry[], of: string, task: string, unit: string, marked: boolean}} Layer
 */

const RESPONSE = 'response';

/** @type {Record<string, string>} names of texts other than passages that contain evidence */
const TEXTS = { response: 'the response', reference: 'the reference' };

/** Units that are whole texts; they are not underlined. */
const WHOLE = ['response', 'passage'];

/** The task of verdicts on a bank, whose units are searched for in the response. */
const BANK = 'assign';

/** Whether a score has a sentence map (which sentences are based on which). @param {any} score */
function mapped(score) {
  return measureOf(score.metric).task === 'trace' && Boolean(score.detail?.response);
}

class Case {
  constructor(document) {
    this.document = document;
    this.units = new Map(document.units.map((unit) => [unit.id, unit]));
    this.scores = new Map(document.scores.map((score) => [score.metric, score]));
    this.contexts = new Map(document.contexts.map((context) => [context.id, context]));
    /** @type {Map<string, Entry[]>} */
    this.entries = new Map(document.scores.map((score) => [score.metric, this.entriesOf(score)]));
    /** @type {Layer[]} verdicts on parts, in display order; those `marked` in the response come first */
    this.layers = document.scores
      .map(({ metric }) => ({ metric, entries: this.of(metric), ...measureOf(metric) }))
      .filter((one) => one.entries.length && !WHOLE.includes(one.unit))
      .map((one) => ({ ...one, marked: one.entries.some(({ spans }) => spans.length) }))
      .sort((a, b) => Number(b.marked) - Number(a.marked) || a.rank - b.rank)
      .map((one) => ({ ...one, of: `${one.task === BANK ? 'bank ' : ''}${one.unit}s` }));
    /** The score with the sentence map, if any. */
    this.map = document.scores.find((score) => mapped(score));
    /** @type {Map<string, {words: string, unit: string, text: string}>} traced sentences by key */
    this.sentences = new Map(this.traced());
  }

  /** The name, the unit to highlight and the text of each traced sentence, by key. @returns {[string, any][]} */
  traced() {
    if (!this.map) return [];
    const { detail } = this.map;
    const numbers = new Map();
    const theirs = detail.contexts.map((row) => {
      numbers.set(row.passage, (numbers.get(row.passage) || 0) + 1);
      const words = `${this.called(row.passage)}, sentence ${numbers.get(row.passage)}`;
      return [row.key, { words, unit: row.key, text: this.wordsOf(row) }];
    });
    const own = this.of(this.map.metric).map(({ unit }, place) => [
      detail.response[place].key,
      { words: `sentence ${place + 1} of the response`, unit: unit.id, text: this.textOf(unit) },
    ]);
    return [...theirs, ...own];
  }

  /** @param {string} metric @returns {Entry[]} */
  of(metric) {
    return this.entries.get(metric) || [];
  }

  /** The verdicts on whole passages from the first metric that has any. @returns {Entry[]} */
  gradesOfPassages() {
    const ranked = [...this.entries].sort(([a], [b]) => measureOf(a).rank - measureOf(b).rank);
    return ranked.find(([metric, entries]) => entries.length && measureOf(metric).unit === 'passage')?.[1] || [];
  }

  /** @param {any} score @returns {Entry[]} */
  entriesOf(score) {
    const rows = mapped(score) ? score.detail.response : [];
    return score.verdicts.map((verdict, place) => {
      const unit = this.units.get(verdict.unit) || { id: verdict.unit, level: '', text: '' };
      const quotes = rows[place] ? this.supports(score, rows[place].support) : verdict.evidence || [];
      const held = quotes.filter(
        (quote) =>
          kindOf(verdict) !== 'no' &&
          quote.passage === RESPONSE &&
          quote.start !== undefined &&
          !this.contexts.has(RESPONSE),
      );
      const spans = held.length
        ? held
        : unit.start === undefined || unit.level === 'response'
          ? []
          : [{ start: unit.start, end: unit.end }];
      const { word } = verdict;
      return { unit, verdict, kind: kindOf(verdict), word, quotes, spans, special: rows[place]?.special || [] };
    });
  }

  /**
   * The context sentences that a response sentence is based on, as quotes.
   * @param {any} score
   * @param {string[]} keys
   * @returns {Quote[]}
   */
  supports(score, keys) {
    return score.detail.contexts
      .filter((row) => keys.includes(row.key))
      .map((row) => ({ passage: row.passage, start: row.start, end: row.end, verbatim: true }));
  }

  /** @param {any} unit @returns {string} */
  textOf(unit) {
    if (unit.text !== undefined && unit.text !== null) return unit.text;
    return unit.level === 'response' ? this.document.response || '' : this.contexts.get(unit.parent)?.text || '';
  }

  /** The text of a quote: the passage's own wording if it was found there. @param {Quote} quote */
  wordsOf(quote) {
    if (quote.start === undefined) return quote.text || '';
    const text = this.contexts.get(quote.passage)?.text ?? (quote.passage in TEXTS ? this.document[quote.passage] : '');
    return stretch(text || '', quote.start, quote.end ?? quote.start);
  }

  /** The display name of a passage, by its rank. @param {string} id */
  called(id) {
    const found = this.contexts.get(id);
    return found ? `passage ${found.rank}` : TEXTS[id] || 'no passage';
  }
}

/** Matches texts in which offsets in code points, as in the data, differ from string offsets. */
const WIDE = /[\ud800-\udbff]/;

/** Convert offsets in code points to string offsets. @param {string} text @returns {(place: number) => number} */
function placer(text) {
  if (!WIDE.test(text)) return (place) => Math.min(place, text.length);
  /** @type {number[]} */
  const starts = [];
  let at = 0;
  for (const character of text) {
    starts.push(at);
    at += character.length;
  }
  return (place) => (place < starts.length ? starts[place] : text.length);
}

/** @param {string} text @param {number} start @param {number} end in code points */
function stretch(text, start, end) {
  const place = placer(text);
  return text.slice(place(start), place(end));
}

/**
 * Cut a text at every start and end of a span, and return the pieces with the spans that cover each.
 * @template T
 * @param {string} text
 * @param {{start: number, end: number, of: T}[]} spans in code points
 * @param {number[]} [more] more string offsets to cut at
 * @returns {{text: string, of: T[]}[]}
 */
function pieces(text, spans, more = []) {
  const place = placer(text);
  const placed = spans
    .map(({ start, end, of }) => ({ start: place(start), end: place(end), of }))
    .filter((span) => span.start < span.end)
    .sort((a, b) => a.start - b.start);
  const cuts = [...new Set([0, text.length, ...more, ...placed.flatMap((span) => [span.start, span.end])])].sort(
    (a, b) => a - b,
  );
  const found = [];
  let next = 0;
  /** @type {typeof placed} */
  let open = [];
  for (let number = 0; number + 1 < cuts.length; number++) {
    const start = cuts[number];
    open = open.filter((span) => span.end > start);
    while (next < placed.length && placed[next].start <= start) open.push(placed[next++]);
    found.push({ text: text.slice(start, cuts[number + 1]), of: open.map((span) => span.of) });
  }
  return found;
}

/** Several blank lines, displayed as one; those at the start of a text are left out. */
const BLANKS = /\n(?:[^\S\n]*\n){2,}/g;
const RULE = /^ *\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$/;

/**
 * The Markdown tables of a text: the start and end of each, and its rows of cells, starting with the head.
 * @param {string} text
 */
function tablesIn(text) {
  /** @type {{start: number, end: number, rows: {start: number, end: number}[][]}[]} */
  const found = [];
  let at = 0;
  const lines = text.split('\n').map((line) => ({ line, start: at, end: (at += line.length + 1) - 1 }));
  for (let number = 1; number < lines.length; number++) {
    if (!lines[number].line.includes('|') || !RULE.test(lines[number].line) || !lines[number - 1].line.includes('|'))
      continue;
    let last = number;
    while (lines[last + 1]?.line.includes('|')) last++;
    const rows = [lines[number - 1], ...lines.slice(number + 1, last + 1)].map(({ line, start }) => {
      const from = /^\s*\|?/.exec(line)?.[0].length ?? 0;
      return [...line.slice(from).trimEnd().matchAll(/((?:\\\||[^|])*)(?:\||$)/g)]
        .map((cell) => ({ start: start + from + cell.index, end: start + from + cell.index + cell[1].length }))
        .slice(0, -1); // the pattern also matches the end of the line
    });
    let { start } = lines[number - 1],
      { end } = lines[last];
    while (text[start - 1] === '\n') start--; // the table needs no line breaks around it
    while (text[end] === '\n') end++;
    found.push({ start, end, rows });
    number = last;
  }
  return found;
}

/**
 * Draw a text with its spans, and its Markdown tables as tables. No other markup is interpreted.
 * @template T
 * @param {string} text
 * @param {{start: number, end: number, of: T}[]} spans in code points
 * @param {(piece: {text: string, of: T[]}, before: {text: string, of: T[]} | null) => Child | Child[]} drawn
 * @returns {Child[]}
 */
function laidOut(text, spans, drawn) {
  const tables = tablesIn(text);
  const cuts = tables.flatMap((one) => [one, ...one.rows.flat()]).flatMap(({ start, end }) => [start, end]);
  const all = pieces(text, spans, cuts);
  let at = 0;
  const placed = all.map((piece) => ({ piece, start: at, end: (at += piece.text.length) }));
  /** @type {{text: string, of: T[]} | null} */
  let before = null;
  const places = new Map(placed.map((one, place) => [one.start, place]));
  const between = (start, end) => {
    const found = [];
    for (let place = places.get(start) ?? all.length; placed[place]?.end <= end; place++) {
      const text = place ? all[place].text : all[place].text.replace(/^\s*\n/, '');
      found.push(drawn({ ...all[place], text: text.replace(BLANKS, '\n\n') }, before));
      before = all[place];
    }
    return found;
  };
  const shown = [];
  let from = 0;
  for (const { start, end, rows } of tables) {
    const lines = rows.map((row, number) =>
      el(
        'tr',
        row.map((cell) => el(number ? 'td' : 'th', null, between(cell.start, cell.end))),
      ),
    );
    const drawnTable = el('table.plain.drawn-table', el('tbody', lines));
    const name = lines[0].textContent.trim();
    shown.push(between(from, start), wide(`Table: ${shortened(name, 80)}`, drawnTable));
    from = end;
  }
  return [...shown, between(from, text.length)];
}

/** @type {Map<number, Set<string>>} units pinned by a click, by the record's position; kept when tabs change */
const pins = new Map();

/** Highlights elements that belong together: the text of a unit, its evidence and its row. */
class Lights {
  /** @param {number} position of the record in the input */
  constructor(position) {
    this.position = position;
    /** @type {Map<string, Element[]>} */
    this.elements = new Map();
  }

  /** @returns {Set<string> | null} */
  get pinned() {
    return pins.get(this.position) || null;
  }

  set pinned(units) {
    if (units) pins.set(this.position, units);
    else pins.delete(this.position);
  }

  /**
   * @param {Element} element @param {string[]} units the units that it belongs to
   * @param {{unlit?: boolean, passive?: boolean}} [how] unlit: highlights only others; passive: triggers nothing
   */
  join(element, units, how = {}) {
    for (const unit of how.unlit ? [] : units) {
      if (!this.elements.has(unit)) this.elements.set(unit, []);
      this.elements.get(unit).push(element);
    }
    if (how.passive || !units.length) return;
    const lit = new Set(units);
    element.addEventListener('pointerenter', (event) => {
      if (event.pointerType !== 'touch') this.show(lit, element);
    });
    element.addEventListener('pointerleave', () => this.show(this.pinned));
    element.addEventListener('focus', () => this.show(lit, element));
    element.addEventListener('blur', () => this.show(this.pinned));
    element.addEventListener('click', (event) => {
      event.stopPropagation(); // a sentence name in a row must not trigger the row
      this.pinned = this.pinned && [...lit].every((unit) => this.pinned?.has(unit)) ? null : lit;
      this.show(this.pinned || lit, element, true);
    });
  }

  /** @param {Set<string> | null} units @param {Element | null} [source] @param {boolean} [far] also scroll the page */
  show(units, source = null, far = false) {
    for (const elements of this.elements.values()) for (const element of elements) element.classList.remove('lit');
    for (const unit of units || []) for (const element of this.elements.get(unit) || []) element.classList.add('lit');
    if (source) litIntoView(source, far);
  }
}

/** Scroll each column, except the source's, to its highlight. @param {Element | null} source @param {boolean} [far] */
function litIntoView(source, far = false) {
  for (const column of document.querySelectorAll('.column')) {
    const target = column.querySelector('.lit');
    if (target && !column.contains(source)) bringIntoView(column, target, far);
  }
}

/**
 * Scroll a column so that one of its elements is visible.
 * @param {Element} column
 * @param {Element} target
 * @param {boolean} far
 */
function bringIntoView(column, target, far) {
  const inner = target.getBoundingClientRect(),
    outer = column.getBoundingClientRect();
  const behavior = matchMedia('(prefers-reduced-motion: reduce)').matches ? 'auto' : 'smooth';
  if (column.scrollHeight > column.clientHeight + 4) {
    if (inner.top < outer.top + 40 || inner.bottom > outer.bottom - 16)
      column.scrollTo({ top: column.scrollTop + inner.top - outer.top - 80, behavior });
  } else if (far && (inner.top < 0 || inner.bottom > innerHeight)) target.scrollIntoView({ block: 'center', behavior });
}
