// A panel: each judge's label for each unit; units on which the judges disagree are marked and come first.

/** The metrics judged by a panel. @param {Case} record */
function panelMetrics(record) {
  return record.document.scores
    .map((score) => score.metric)
    .filter((metric) => record.of(metric).some((entry) => entry.verdict.members));
}

/** @param {Case} record @param {Lights} lights */
function panelView(record, lights) {
  return panelMetrics(record).map((metric) => {
    const entries = record.of(metric).filter((entry) => entry.verdict.members);
    const judges = [...new Set(entries.flatMap((entry) => entry.verdict.members.map((member) => member.judge)))];
    const short = shortJudges(judges);
    const ordered = [...entries].sort((a, b) => Number(disagree(b)) - Number(disagree(a)));
    const apart = entries.filter(disagree).length;
    return el(
      'section.panel',
      el('h3', named(metric)),
      el(
        'p.note',
        apart
          ? `The judges disagree on ${apart} of ${plural(entries.length, 'unit')}, listed first.`
          : `The judges agree on all ${plural(entries.length, 'unit')}.`,
      ),
      wide(
        `${named(metric)}, judge by judge`,
        el(
          'table.units.judges',
          tableHead(
            columnHead('Unit'),
            judges.map((judge) => el('th', { scope: 'col', title: judge }, foreign(short[judge]))),
            columnHead('Panel'),
          ),
          el(
            'tbody',
            ordered.map((entry) => {
              const row = el(
                'tr',
                { class: disagree(entry) ? 'apart' : null, tabindex: 0 },
                el(
                  'td.words',
                  disagree(entry) ? el('b.apart', 'disagree ') : null,
                  foreign(shortened(record.textOf(entry.unit), 300)),
                ),
                judges.map((judge) => memberCell(entry.verdict.members.find((member) => member.judge === judge))),
                el(
                  'td.given',
                  verdictSign(entry.kind, entry.word),
                  el('span.soft.number', percent(entry.verdict.value)),
                ),
              );
              lights.join(row, [entry.unit.id]);
              return row;
            }),
          ),
        ),
      ),
    );
  });
}

/** Whether two members gave different labels. @param {Entry} entry */
function disagree(entry) {
  const labels = entry.verdict.members.map((member) => member.label).filter((label) => label !== null);
  return new Set(labels).size > 1;
}

function memberCell(member) {
  if (!member) return el('td.soft', 'not asked');
  const reason = member.failure || member.reason;
  return el(
    'td.given',
    verdictSign(kindOf(member), member.word),
    scaled(member),
    reason ? el('span.note', foreign(shortened(reason, 240))) : null,
  );
}
