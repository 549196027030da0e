// The evidence for labelling a unit: the response with the unit marked, and searchable passages.

/** Length, in characters, from which a passage is folded until it is opened. */
const LONG = 900;
/** Total length, in characters, up to which no passage is folded. */
const SHORT_ENOUGH = 4000;

/** @param {any} texts of a record @param {any} unit */
function textOfUnit(texts, unit) {
  if (unit.level === 'response') return texts.response;
  if (unit.level !== 'passage') return unit.text;
  return texts.contexts.find((one) => one.id === unit.passage)?.text ?? '';
}

/** The response with the unit marked. @param {any} texts @param {any} unit */
function markedResponse(texts, unit) {
  if (!texts.response.trim()) return el('p.empty', 'none');
  const spans = unit.span && unit.level !== 'response' ? [{ start: unit.span[0], end: unit.span[1], of: unit }] : [];
  return el(
    'div',
    { class: 'prose', dir: directionOf(texts.response) },
    laidOut(texts.response, spans, ({ text, of }) =>
      of.length ? el('mark', { class: 'unit-mark', dir: 'auto' }, text) : text,
    ),
  );
}

/** The passages of a record: long ones are folded, and a search shows only those that match. */
class Passages {
  /** @param {any[]} contexts */
  constructor(contexts) {
    const long = contexts.reduce((sum, one) => sum + one.text.length, 0) > SHORT_ENOUGH;
    this.found = el('span', { class: 'found', role: 'status' });
    this.search = el('input', {
      type: 'search',
      id: 'search',
      placeholder: 'Search passages',
      'aria-label': 'Search passages',
      'aria-keyshortcuts': '/',
      on: { input: () => this.look(), keydown: (event) => this.typed(event) },
    });
    this.entries = contexts.map((context) => this.entry(context, long && context.text.length > LONG));
    this.all = el('button', { class: 'plain', 'aria-keyshortcuts': 'e', on: { click: () => this.openAll() } });
    this.all.hidden = !this.entries.some((entry) => entry.more);
    this.tellAll();
    this.head = el(
      'div.head',
      el('h2', 'Passages ', el('span.number.soft', contexts.length)),
      this.all,
      el('span.search', this.found, this.search),
    );
    this.list = el(
      'div.passages',
      this.entries.map((entry) => entry.element),
    );
    this.match = -1;
  }

  /** @param {any} context @param {boolean} folded */
  entry(context, folded) {
    const prose = el('div', { class: 'prose', dir: directionOf(context.text) });
    const more = folded ? el('button', { class: 'plain more-text', on: { click: () => this.open(made) } }) : null;
    const name = String(context.rank) === context.id ? null : foreign(shortened(context.id, 120), { class: 'name' });
    const head = el('h3', el('span.rank', context.rank), name);
    const element = el('article', { class: 'passage', 'aria-label': `Passage ${context.rank}` }, head, prose, more);
    const made = { context, prose, more, element, opened: true };
    this.write(made);
    if (folded) this.open(made, false);
    return made;
  }

  /** Draw the text of a passage with these matches marked. @param {any} entry @param {RegExpMatchArray[]} [hits] */
  write({ context: { text }, prose }, hits = []) {
    const place = WIDE.test(text) ? (end) => [...text.slice(0, end)].length : (end) => end; // in code points
    const spans = hits.map((hit) => ({ start: place(hit.index), end: place(hit.index + hit[0].length), of: hit }));
    refill(
      prose,
      laidOut(text, spans, ({ text: piece, of }) => (of.length ? el('mark', piece) : piece)),
    );
  }

  /** @param {any} entry @param {boolean} [opened] */
  open(entry, opened = !entry.opened) {
    entry.opened = opened;
    entry.element.classList.toggle('folded', !opened);
    if (!entry.more) return;
    const words = entry.context.text.length / 6;
    entry.more.textContent = opened ? 'Show less' : `Show all (about ${count(Math.round(words / 10) * 10)} words)`;
    entry.more.setAttribute('aria-expanded', String(opened));
    if (this.all) this.tellAll();
  }

  tellAll() {
    this.all.textContent = this.entries.some((entry) => !entry.opened) ? 'Expand all' : 'Collapse all';
  }

  openAll() {
    const open = this.entries.some((entry) => !entry.opened);
    for (const entry of this.entries) this.open(entry, open || !entry.more);
  }

  /** Mark the passage being labelled, if any, and fold the others. @param {string | null} passage */
  mark(passage) {
    for (const entry of passage === null ? [] : this.entries) {
      const marked = entry.context.id === passage;
      entry.element.classList.toggle('labelled', marked);
      entry.element.setAttribute('aria-current', String(marked));
      this.open(entry, marked || !entry.more);
    }
  }

  /** Mark search matches and hide passages without any. */
  look() {
    const words = this.search.value.trim().replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
    const wanted = words ? new RegExp(words.replace(/\s+/g, '\\s+'), 'giu') : null;
    let found = 0;
    for (const entry of this.entries) {
      const hits = wanted ? [...entry.context.text.matchAll(wanted)] : [];
      this.write(entry, hits);
      entry.element.hidden = Boolean(wanted) && !hits.length;
      if (hits.length) this.open(entry, true);
      found += hits.length;
    }
    this.match = -1;
    this.found.textContent = wanted ? (found ? plural(found, 'match', 'matches') : 'no match') : '';
  }

  /** Show all passages again. */
  clear() {
    this.search.value = '';
    this.look();
  }

  /** Enter goes to the next match; Escape leaves the field but keeps the marks. @param {KeyboardEvent} event */
  typed(event) {
    if (event.key === 'Escape') {
      event.preventDefault();
      this.search.blur();
    } else if (event.key === 'Enter') {
      const marks = this.list.querySelectorAll('mark');
      if (!marks.length) return;
      this.match = (this.match + 1) % marks.length;
      for (const [place, mark] of marks.entries()) mark.classList.toggle('here', place === this.match);
      marks[this.match].scrollIntoView({ block: 'center' });
    }
  }
}
