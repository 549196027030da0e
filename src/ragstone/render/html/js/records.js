// The table of records: search, filters, sorting, paging; arrow keys move, Enter opens.

const PAGE = 50;

/** The metrics shown as columns: those with a card. */
function columns() {
  return scored.slice(0, 6).map(({ name }) => name);
}

const recordsBox = el('section', { class: 'records', id: 'records', 'aria-labelledby': 'records-title' });
const recordsBody = el('div.body');
const said = el('p', { class: 'shown', 'aria-live': 'polite' });
const search = el('input', {
  type: 'search',
  id: 'search',
  placeholder: 'id, question, response, claims',
  autocomplete: 'off',
  spellcheck: 'false',
  on: { input: () => slide({ q: search.value, page: 1 }) },
});
const chosen = el('div.chosen');

refill(recordsBox, el('h2', { id: 'records-title', tabindex: '-1' }, 'Records'), chosen, said, recordsBody);

function drawRecords() {
  if (document.activeElement !== search) search.value = now.q;
  if (!recordsBox.querySelector('.filters')) chosen.before(filterBar());
  for (const [name, value] of Object.entries({ status: now.status, verdict: now.verdict, of: now.judged })) {
    const select = recordsBox.querySelector(`#choose-${name}`);
    if (!select) continue;
    if (![...select.options].some((option) => option.value === value))
      select.append(el('option', { value }, named(value)));
    select.value = value;
  }
  refill(chosen, chips());
  drawLines();
}

/** Draw only the table, so that texts arriving while the user presses a filter do not disturb it. */
function drawLines() {
  const lines = matching(now);
  const pages = Math.max(1, Math.ceil(lines.length / PAGE));
  const page = Math.min(now.page, pages);
  const shown = lines.slice((page - 1) * PAGE, page * PAGE);
  refill(said, saidOf(lines.length));
  const focused = document.activeElement?.dataset.record;
  refill(recordsBody, lines.length ? recordTable(shown) : noneFound(), lines.length > PAGE ? pager(page, pages) : null);
  if (focused) focusRow(focused);
  readLines(shown)
    .then((came) => came && redraw(textsCame))
    .catch(failed);
}

function textsCame() {
  if (!now.record) drawLines();
}

/** @param {number | string} position of a record */
function focusRow(position) {
  recordsBody.querySelector(`tr[data-record="${Number(position)}"]`)?.focus();
}

/** Created once, so that typing or choosing is not interrupted. */
function filterBar() {
  return el(
    'div.filters',
    el('label.choice.search', el('span', 'Search'), search),
    ...verdictChoices(),
    statusChoice(),
    rangeForm(),
  );
}

/** @param {number} number */
function saidOf(number) {
  const all = table.position.length;
  const half = first.live && !table.whole.complete && (now.verdict || now.judged || now.field || now.reason);
  const coming = table.complete
    ? half
      ? ` \u00b7 reading, ${count(table.whole.read)} of ${count(all)} so far`
      : ''
    : ` \u00b7 reading, ${count(all)} of ${count(first.records)} so far`;
  const kept =
    first.records > all && table.complete
      ? ` The ${count(all)} lowest-scoring of ${plural(first.records, 'record')} are in this file.`
      : '';
  const details =
    !first.live && caseAt.size < all ? ` Only the ${count(caseAt.size)} lowest-scoring can be opened in this file.` : '';
  const order =
    now.sort === 'position' ? 'in the order of the input' : `${sortedBy()}, ${now.down ? 'highest' : 'lowest'} first`;
  const whole = plural(all, 'record');
  const told = filtered(now) ? `${count(number)} of ${whole}` : whole;
  return `${told}, ${order}; scores in percent; ${TONES}${coming || searching(all)}.${kept}${details}`;
}

/** The sort order in words, if it is not the input order. */
function sortedBy() {
  return `by ${now.sort === 'id' ? 'id' : spoken(now.sort)}`;
}

/** The progress of a search, unless it covers all records. @param {number} all */
function searching(all) {
  if (!now.q) return '';
  const { q, read: found } = table.found;
  if (first.live && (q !== now.q || (found >= 0 && found < table.whole.read))) return ' \u00b7 reading texts';
  const read = first.live ? Math.max(0, found) : table.whole.read;
  if (read === all) return '';
  return table.whole.complete || found < 0
    ? ` \u00b7 ${first.live ? 'no text' : 'only the beginning'} of ${plural(all - read, 'record')} could be searched`
    : ` \u00b7 reading whole texts, ${count(read)} of ${count(all)} so far`;
}

function statusChoice() {
  const present = new Set(first.metrics.flatMap((metric) => Object.keys(metric.statuses)));
  const statuses = [
    ...first.statuses.filter((status) => present.has(status)),
    ...(first.set_aside ? ['set_aside'] : []),
  ];
  return choice('Status', [['', 'any'], ...statuses.map((status) => [status, STATUS[status]])], now.status, (status) =>
    slide({ status, reason: '', page: 1 }),
  );
}

/** The filter by kind of verdict, of any metric or of one. */
function verdictChoices() {
  const names = first.metrics
    .filter((one) => one.units?.asked && measureOf(one.name).shown?.includes(one.name))
    .map((one) => [one.name, named(one.name)]);
  if (!names.length) return [];
  const kinds = Object.entries(VERDICTS).filter(([kind]) => kind !== 'apart' || first.panel);
  return [
    choice('Verdict', [['', 'any'], ...kinds], now.verdict, (verdict) => slide({ verdict, page: 1 })),
    choice('of', [['', 'any metric'], ...names], now.judged, (judged) => slide({ judged, reason: '', page: 1 })),
  ];
}

/** The filter by a range of a score, as an alternative to drawing a box. */
function rangeForm() {
  const names = columns();
  if (!names.length) return null;
  const end = (label, placeholder) =>
    el('input', { type: 'number', min: 0, max: 100, step: 'any', placeholder, 'aria-label': label });
  const low = end('from, in percent', '0'),
    high = end('to, in percent', '100');
  const metric = el(
    'select',
    { 'aria-label': 'Score' },
    scored.map(({ name }) => el('option', { value: name }, named(name))),
  );
  const keep = () => {
    const ends = [low, high]
      .map((one) => Number(one.value || one.placeholder) / 100)
      .map(bounded)
      .sort((a, b) => a - b);
    slide({
      ranges: { ...now.ranges, [metric.value]: [ends[0], ends[1]] },
      page: 1,
    });
  };
  return el(
    'div',
    {
      class: 'choice range',
      role: 'group',
      'aria-label': 'Filter by score',
      on: { keydown: (event) => event.key === 'Enter' && event.target.matches('input') && keep() },
    },
    el('span', 'Score'),
    el(
      'span.fields',
      metric,
      low,
      el('span', DASH),
      high,
      el('span', '%'),
      el('button', { on: { click: keep } }, 'Apply'),
    ),
  );
}

/** The active filters, each with a button to remove it. */
function chips() {
  /** @type {[Child, Partial<State>][]} */
  const told = [];
  if (now.field) told.push([el('span', `${now.field}: `, foreign(now.value)), { field: '', value: '' }]);
  if (now.below) told.push([`${spoken(now.below)} below 100%`, { below: '' }]);
  for (const [metric, [low, high]] of Object.entries(now.ranges)) {
    const ranges = { ...now.ranges };
    delete ranges[metric];
    told.push([`${spoken(metric)} ${between(low, high)}%`, { ranges }]);
  }
  if (now.verdict || (now.judged && !now.status))
    told.push([
      [VERDICTS[now.verdict] || 'judged', now.judged ? ` in ${spoken(now.judged)}` : ''].join(''),
      { verdict: '', judged: '' },
    ]);
  if (now.status)
    told.push([
      el(
        'span',
        [STATUS[now.status] || now.status, now.judged ? ` in ${spoken(now.judged)}` : ''].join(''),
        now.reason ? [' (', foreign(now.reason), ')'] : null,
      ),
      { status: '', reason: '', ...(now.verdict ? {} : { judged: '' }) },
    ]);
  if (now.q) told.push([el('span', '\u201c', foreign(now.q), '\u201d'), { q: '' }]);
  if (!told.length) return null;
  return el(
    'ul',
    { class: 'chips', 'aria-label': 'Filters' },
    told.map(([words, without]) =>
      el(
        'li',
        el(
          'a',
          { href: address({ ...without, page: 1 }) },
          words,
          el('span', { 'aria-hidden': 'true' }, ' \u00d7'),
          unseen(', remove this filter'),
        ),
      ),
    ),
    told.length > 1 ? el('li.all', el('a', { href: address(CLEAR) }, 'Clear all')) : null,
  );
}

function noneFound() {
  if (!table.complete) return el('p.empty', 'Reading the records\u2026');
  if (!first.records)
    return el(
      'p.empty',
      'The run has no records. Either its input was empty, or it ended before the first one was evaluated.',
    );
  return el(
    'p.empty',
    'No records match these filters. ',
    now.q ? 'Search covers ids, questions, responses, references, passages and judged units. ' : null,
    el('a', { href: address(CLEAR) }, 'Clear the filters'),
    ' to see all.',
  );
}

/** @param {number[]} lines */
function recordTable(lines) {
  const names = columns();
  const head = tableHead(
    heading('id', 'Record'),
    columnHead('Question and response'),
    names.map((name) => heading(name, named(name), 'number')),
  );
  const body = el(
    'tbody',
    lines.map((line, place) => recordRow(line, names, place === 0)),
  );
  body.addEventListener('keydown', moveRow);
  return el('table.lines', el('caption.unseen', 'Records; arrow keys move, Enter opens'), head, body);
}

/** @param {string} sort @param {string} title @param {string} [kind] */
function heading(sort, title, kind) {
  const active = now.sort === sort || (sort === 'id' && now.sort === 'position');
  const next =
    sort === 'id'
      ? now.sort === 'position'
        ? { sort: 'id', down: false }
        : { sort: 'position', down: false }
      : { sort, down: now.sort === sort && !now.down };
  return el(
    'th',
    {
      scope: 'col',
      class: kind,
      'aria-sort': active && now.sort !== 'position' ? (now.down ? 'descending' : 'ascending') : null,
    },
    el(
      'a',
      { href: address({ ...next, page: 1 }), class: active ? 'active' : null },
      title,
      el(
        'span',
        { class: 'arrow', 'aria-hidden': 'true' },
        active && now.sort !== 'position' ? (now.down ? ' \u2193' : ' \u2191') : '',
      ),
    ),
  );
}

/** @param {number} line @param {string[]} names @param {boolean} entry */
function recordRow(line, names, entry) {
  const position = table.position[line];
  const elsewhere = foundIn(line, wordsOf(now));
  const to = address({ record: position, tab: '' });
  const without = table.response[line] === null ? 'no response' : '\u2026';
  return el(
    'tr',
    {
      tabindex: entry ? 0 : -1,
      'data-record': position,
      on: {
        click: (event) => {
          if (!event.target.closest('a') && !String(getSelection())) location.hash = to;
        },
      },
    },
    el(
      'th',
      { scope: 'row' },
      el('a', { href: to, tabindex: -1, class: 'id', title: table.id[line] }, foreign(table.id[line])),
      el('span.place', `#${count(position)}`),
    ),
    el(
      'td.texts',
      foreign(table.question[line] ?? '\u2026', { class: 'one-line question' }),
      table.setAside.has(line)
        ? el('span.one-line', el('b.state', STATUS.set_aside), ': ', foreign(table.response[line]))
        : foreign(table.response[line] || (table.response[line] === '' ? 'blank response' : without), {
            class: table.response[line] ? 'one-line' : 'one-line soft',
          }),
      elsewhere ? el('bdi.one-line.found', elsewhere[0], el('mark', elsewhere[1]), elsewhere[2]) : null,
    ),
    names.map((name) => scoreCell(line, name)),
  );
}

/** @param {number} line @param {string} name */
function scoreCell(line, name) {
  const value = table.values[name]?.[line] ?? null;
  const status = table.setAside.has(line) ? '' : first.statuses[table.statuses[name]?.[line] ?? -1] || '';
  const label = el('span', { class: 'of', 'aria-hidden': 'true' }, named(name));
  if (value === null) return el('td.number.without', label, el('span.state', STATUS[status] || DASH));
  const kind = kindOf({ label: '', value: bestAtZero(name) ? 1 - value : value });
  return el(
    'td',
    { class: 'number toned', css: tone(value, name) },
    label,
    el('span.value', table.verdicts[name]?.[line] ? verdictSign(kind, '') : null, points(value)),
    status !== 'scored' ? el('span.state', STATUS[status]) : null,
    thinBar(value),
  );
}

/** @param {KeyboardEvent} event */
function moveRow(event) {
  const row = event.target.closest('tr');
  if (!row) return;
  const rows = [...(row.parentElement?.children || [])];
  const at = rows.indexOf(row);
  const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
  if (next !== undefined && rows[next]) rove(event, rows, rows[next]);
  else if (event.key === 'Enter' && event.target === row) {
    go({ record: Number(row.dataset.record), tab: '' });
    event.preventDefault();
  }
}

/** @param {number} page @param {number} pages */
function pager(page, pages) {
  const to = (target, words) =>
    target < 1 || target > pages
      ? el('span.soft', words)
      : el('a', { href: address({ page: target }), on: { click: showRecords } }, words);
  return el(
    'nav',
    { class: 'pager', 'aria-label': 'Pages of records' },
    to(page - 1, '\u2190 Previous'),
    el('span.number', `Page ${count(page)} of ${count(pages)}`),
    to(page + 1, 'Next \u2192'),
  );
}

/** Whether to scroll to the table after the next redraw. */
let recordsWanted = false;
function showRecords() {
  recordsWanted = true;
  setTimeout(() => {
    if (recordsWanted) render();
  }); // in case the address did not change
}
