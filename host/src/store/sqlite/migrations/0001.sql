-- What belongs to the database as a whole: the secret under which keys, seeds and placeholders are made.
CREATE TABLE host (
    name  TEXT PRIMARY KEY,
    value BLOB NOT NULL
) WITHOUT ROWID;

-- One row a run. `lease` rises with every change of state or owner; a write that bears an old number does nothing.
CREATE TABLE run (
    id     BLOB PRIMARY KEY,
    state  TEXT NOT NULL,
    lease  INTEGER NOT NULL,
    owner  BLOB NOT NULL,
    caller TEXT NOT NULL,
    trace  TEXT NOT NULL,
    began  INTEGER NOT NULL,
    ended  INTEGER,
    rearms INTEGER NOT NULL DEFAULT 0,
    key    BLOB
) WITHOUT ROWID;

CREATE INDEX run_under_way ON run (owner) WHERE state = 'running';

-- One row a step. Input and result stand apart, so that lists stay small.
CREATE TABLE step (
    run      BLOB NOT NULL,
    step     INTEGER NOT NULL,
    tool     TEXT NOT NULL,
    action   BLOB NOT NULL,
    repeat   TEXT NOT NULL,
    state    TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    word     TEXT,
    payload  INTEGER NOT NULL,
    PRIMARY KEY (run, step)
) WITHOUT ROWID;

CREATE TABLE payload (
    id    INTEGER PRIMARY KEY,
    input TEXT NOT NULL,
    ok    INTEGER,
    body  TEXT
);

CREATE TABLE attempt (
    run     BLOB NOT NULL,
    step    INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    plugin  BLOB NOT NULL,
    began   INTEGER NOT NULL,
    ended   INTEGER,
    word    TEXT,
    fuel    INTEGER NOT NULL DEFAULT 0,
    memory  INTEGER NOT NULL DEFAULT 0,
    effects INTEGER NOT NULL DEFAULT 0,
    millis  INTEGER NOT NULL DEFAULT 0,
    log     TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (run, step, attempt)
) WITHOUT ROWID;

-- The journal of effects: a row is written before the request leaves, and again when its answer is known.
CREATE TABLE effect (
    run      BLOB NOT NULL,
    step     INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    ordinal  INTEGER NOT NULL,
    repeat   TEXT NOT NULL,
    method   TEXT NOT NULL,
    target   TEXT NOT NULL,
    request  BLOB NOT NULL,
    key      TEXT,
    state    TEXT NOT NULL,
    status   INTEGER,
    intended INTEGER NOT NULL,
    known    INTEGER,
    PRIMARY KEY (run, step, attempt, ordinal)
) WITHOUT ROWID;

-- What happened to a run, in order.
CREATE TABLE event (
    run    BLOB NOT NULL,
    number INTEGER NOT NULL,
    at     INTEGER NOT NULL,
    event  TEXT NOT NULL,
    person TEXT,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;

-- `expires` and `guarded` stand once the run has ended: until `expires` its result is given again, and until
-- `guarded` the key is refused.
CREATE TABLE key (
    scope   BLOB PRIMARY KEY,
    text    TEXT NOT NULL,
    run     BLOB NOT NULL,
    action  BLOB NOT NULL,
    expires INTEGER,
    guarded INTEGER
) WITHOUT ROWID;
