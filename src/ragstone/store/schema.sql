-- The store: each part makes one version of it from the one before, and is never changed once it was released.
-- Times are seconds since 1970, UTC. Blobs are zstd-compressed JSON.

-- version 1
CREATE TABLE calls (
  key     BLOB NOT NULL UNIQUE, -- hash of judge, maker, repeat and the exact request
  judge   TEXT NOT NULL,
  task    TEXT NOT NULL,
  maker   TEXT NOT NULL,        -- prompt with its hash, or the model's version
  request BLOB NOT NULL,
  reply   BLOB NOT NULL,
  at      REAL NOT NULL
);
CREATE TABLE runs (
  id       INTEGER PRIMARY KEY,
  name     TEXT NOT NULL,
  started  REAL NOT NULL,
  finished REAL,
  status   TEXT NOT NULL,       -- running, done, interrupted, stopped
  spec     BLOB NOT NULL,
  summary  BLOB
);
CREATE TABLE results (
  run      INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,    -- place in the input, from 1
  record   TEXT NOT NULL,
  document BLOB NOT NULL,       -- the line of results.jsonl
  PRIMARY KEY (run, position)
) WITHOUT ROWID;
CREATE INDEX results_by_record ON results (run, record);
CREATE TABLE scores (
  run      INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  metric   TEXT NOT NULL,
  position INTEGER NOT NULL,
  value    REAL,
  status   TEXT NOT NULL,
  asked    INTEGER NOT NULL,
  unjudged INTEGER NOT NULL,
  low      REAL,
  high     REAL,
  outcome  TEXT,
  calls    INTEGER NOT NULL,    -- of calls that no earlier metric of the record stands on
  input_tokens  INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  dollars  REAL,                -- NULL: the price is unknown
  PRIMARY KEY (run, position, metric)
) WITHOUT ROWID;

-- version 2
ALTER TABLE scores ADD COLUMN repeats TEXT; -- JSON: what came of asking several times; NULL: asked once

-- version 3
CREATE TABLE batches (
  id       INTEGER PRIMARY KEY,
  run      TEXT NOT NULL,       -- name of the run
  judge    TEXT NOT NULL,       -- id of the judge
  spec     BLOB NOT NULL,       -- its settings
  tag      TEXT NOT NULL,       -- what it is found by where its remote id was lost
  remote   TEXT,                -- the provider's id; NULL: it may have been sent
  status   TEXT NOT NULL,       -- made, sent, export (no provider), done
  made     REAL NOT NULL
);
CREATE TABLE batch_calls (      -- what is on its way or came with a batch; what came is among the calls
  key      BLOB NOT NULL UNIQUE,
  batch    INTEGER NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
  task     TEXT NOT NULL,
  maker    TEXT NOT NULL,
  units    INTEGER NOT NULL,
  repeat   INTEGER NOT NULL,
  request  BLOB NOT NULL,
  failed   TEXT                 -- why there will be no reply
);
CREATE INDEX batch_calls_by_batch ON batch_calls (batch);

-- version 4
CREATE TABLE results_4 (        -- rows beside a rowid: without one, what is over 1,000 bytes took a page of its own
  run      INTEGER NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
  position INTEGER NOT NULL,    -- place in the input, from 1
  record   TEXT NOT NULL,
  document BLOB NOT NULL,       -- the line of results.jsonl
  UNIQUE (run, position)
);
INSERT INTO results_4 SELECT run, position, record, document FROM results ORDER BY run, position;
DROP TABLE results;
ALTER TABLE results_4 RENAME TO results;
CREATE INDEX results_by_record ON results (run, record);

-- version 5
ALTER TABLE batches ADD COLUMN input TEXT NOT NULL DEFAULT ''; -- place or digest of the input of a run without a name of its own
ALTER TABLE batch_calls ADD COLUMN spent BLOB; -- reply with the usage of a failed call that was charged
CREATE TABLE batch_tries (      -- calls that batches ended without; one more try may get a reply
  key      BLOB NOT NULL UNIQUE,
  batch    INTEGER NOT NULL REFERENCES batches (id) ON DELETE CASCADE, -- the last one
  tries    INTEGER NOT NULL,
  reason   TEXT NOT NULL
);
CREATE TABLE kept_calls (       -- calls in use although no run has them
  owner    TEXT NOT NULL,       -- what needs them again, such as a test that passed
  key      BLOB NOT NULL,
  PRIMARY KEY (owner, key)
) WITHOUT ROWID;
CREATE TABLE runs_5 (
  id       INTEGER PRIMARY KEY AUTOINCREMENT, -- label files and links name it, so no later run has the number of a deleted one
  name     TEXT NOT NULL,
  started  REAL NOT NULL,
  finished REAL,
  status   TEXT NOT NULL,       -- running, done, interrupted, stopped
  spec     BLOB NOT NULL,
  summary  BLOB
);
INSERT INTO runs_5 SELECT id, name, started, finished, status, spec, summary FROM runs;
DROP TABLE runs;
ALTER TABLE runs_5 RENAME TO runs;

-- version 6
ALTER TABLE batch_tries ADD COLUMN billed INTEGER NOT NULL DEFAULT 0; -- how many of the tries are on a bill
UPDATE batch_tries SET billed = tries WHERE batch IN (SELECT id FROM batches WHERE status = 'billed');
