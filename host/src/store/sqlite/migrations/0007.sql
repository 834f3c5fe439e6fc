-- The state of what a step touched when it ended, and where its outcome needs a stricter clean-up than its tool declares.
ALTER TABLE step ADD COLUMN fingerprint TEXT;
ALTER TABLE step ADD COLUMN cleanup TEXT;

-- What an attempt is for: to make the call, or to take it back; and then what it undid and what it left.
ALTER TABLE attempt ADD COLUMN does TEXT NOT NULL DEFAULT 'call';
ALTER TABLE attempt ADD COLUMN undone TEXT;

-- What came back for effects, as far as it is kept. With a rowid, for bodies may be large.
CREATE TABLE answer (
    run      BLOB NOT NULL,
    step     INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    ordinal  INTEGER NOT NULL,
    location TEXT,
    etag     TEXT,
    body     BLOB NOT NULL,
    PRIMARY KEY (run, step, attempt, ordinal)
);

-- Runs that a process is at, also to take them back, and runs whose texts will go, also of those that were.
DROP INDEX run_under_way;
CREATE INDEX run_under_way ON run (owner) WHERE state IN ('running', 'rolling_back');
DROP INDEX run_to_empty;
CREATE INDEX run_to_empty ON run (ended) WHERE state IN ('completed', 'failed', 'rolled_back') AND removed IS NULL;
