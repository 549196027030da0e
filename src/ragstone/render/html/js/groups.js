// Means by group: a dot and an interval for each value of a field, the worst on top.

const SHOWN = 14;
/** Minimum number of records for a group to be marked, as in the headline sentence. */
const FEWEST = 5;

/** @param {boolean} [all] show every group, however many there are */
function groupsView(all = false) {
  const box = el('section', { class: first.fields.length ? 'groups' : 'groups screen', 'aria-labelledby': 'groups' });
  const fill = (open) =>
    refill(
      box,
      el('h3', { id: 'groups' }, 'By group'),
      groupsBody(open, () => fill(true)),
    );
  fill(all);
  return box;
}

/** @param {boolean} all @param {() => void} open */
function groupsBody(all, open) {
  if (!first.fields.length) {
    const why = first.ungrouped.length
      ? [
          'Cannot group by ',
          foreign(first.ungrouped.join(', ')),
          ': several records must share a value, and there must be at least two such values.',
        ]
      : 'No field to group by; add one to the records, e.g. topic.';
    return el('p.empty', why);
  }
  if (!fieldsThere()) {
    const read = first.live ? table.whole.read : table.position.length;
    return el('p.empty', `Reading\u2026 ${count(read)} of ${count(first.records)}`);
  }
  if (!wholeTable())
    return el(
      'p.empty',
      'Means by group need all records; this file has only the lowest-scoring. To see them: ',
      el('code', command(`ragstone view ${first.run}`, first.store)),
      '.',
    );
  const whole = first.metrics.find((metric) => metric.name === now.of);
  const { groups, alone } = groupsKept(now.by, now.of);
  const shown = all ? groups : groups.slice(0, SHOWN);
  const side = bestAtZero(now.of) ? 'above' : 'below';
  return [
    el(
      'div.choices',
      choice(
        'Field',
        first.fields.map((name) => [name, name]),
        now.by,
        (by) => slide({ by }),
      ),
      metricChoice('Metric', now.of, (of) => slide({ of })),
    ),
    el('p.on-paper', named(now.of), ' by ', foreign(now.by)),
    groups.length
      ? el(
          'ol.rows',
          shown.map((group) => groupRow(group, whole)),
          scaleRow(),
        )
      : el('p.empty', 'No record in any group has a value for this metric.'),
    el(
      'p.note',
      'Means with 95% intervals; the line is the overall mean.',
      shown.some((group) => group.weak)
        ? ` Marked groups have ${FEWEST} records or more and an interval entirely ${side} it.`
        : null,
      alone
        ? ` Excluded: ${plural(alone, 'record')} (no value, or the only one in its group).`
        : '',
    ),
    groups.length > shown.length
      ? el('button', { class: 'quiet', on: { click: open } }, `Show all ${count(groups.length)} groups`)
      : null,
  ];
}

/** Whether the table has all records, not only the lowest. */
function wholeTable() {
  return table.position.length >= first.records;
}

/** @param {string} label @param {string} chosen @param {(value: string) => void} then */
function metricChoice(label, chosen, then) {
  return choice(
    label,
    scored.map(({ name }) => [name, named(name)]),
    chosen,
    then,
  );
}

/** Cached, because groups are redrawn for every letter typed in the search field. */
const groupsKept = remembering(groupsOf);

/**
 * The groups of a field, worst mean first, and the number of records in no group.
 * @param {string} field
 * @param {string} metric
 */
function groupsOf(field, metric) {
  /** @type {Map<string, number[]>} */
  const values = new Map();
  let alone = 0;
  const column = table.values[metric] || [];
  (table.fields[field] || []).forEach((name, line) => {
    const value = column[line];
    if (name === null || typeof value !== 'number') alone++;
    else if (values.has(name)) values.get(name).push(value);
    else values.set(name, [value]);
  });
  const mean = first.metrics.find((one) => one.name === metric)?.mean ?? 0;
  for (const [name, of] of values) if (of.length < 2 && values.delete(name)) alone++;
  const spread = spreadOf(column.filter((value) => typeof value === 'number'));
  const turn = bestAtZero(metric) ? -1 : 1;
  const groups = [...values].map(([name, of]) => {
    const found = meanInterval(of);
    // As in the headline sentence, a group without an interval of its own gets one from the spread of all records.
    const half = (1.959964 * spread) / Math.sqrt(of.length);
    const [low, high] = found.known ? [found.low, found.high] : [found.mean - half, found.mean + half];
    return { name, ...found, weak: of.length >= FEWEST && (turn > 0 ? high < mean : low > mean) };
  });
  return { groups: groups.sort((a, b) => turn * (a.mean - b.mean) || b.count - a.count), alone };
}

function groupRow(group, whole) {
  const chosen = now.field === now.by && now.value === group.name;
  const to = chosen ? { field: '', value: '', page: 1 } : { field: now.by, value: group.name, page: 1 };
  const interval = group.known ? ` (${between(group.low, group.high, group.count)})` : '';
  const mean = percent(group.mean, group.count, group.known ? [group.low, group.high] : null);
  return el(
    'li',
    { class: group.weak ? 'weak' : null },
    el(
      'a',
      { href: address(to), 'aria-current': chosen ? 'true' : null },
      el('span.name', foreign(group.name)),
      el(
        'span',
        { class: 'plot', 'aria-hidden': 'true' },
        el('span', { class: 'all', css: { left: `${whole.mean * 100}%` } }),
        group.known
          ? el('span', {
              class: 'reach',
              css: { left: `${group.low * 100}%`, width: `${(group.high - group.low) * 100}%` },
            })
          : null,
        el('span', { class: 'dot', css: { left: `${group.mean * 100}%` } }),
      ),
      el('span.number', mean, el('span.soft', interval)),
      el('span.number.soft.size', unseen('of '), count(group.count), unseen(' records')),
    ),
  );
}

function scaleRow() {
  return el(
    'li',
    { class: 'scale', 'aria-hidden': 'true' },
    el('span.name'),
    el(
      'span.plot',
      [0, 25, 50, 75, 100].map((tick) => el('span', { css: { left: `${tick}%` } }, tick)),
    ),
    el('span.number', '%'),
    el('span.number.size', 'n'),
  );
}
