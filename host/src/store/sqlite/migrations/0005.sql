-- What plugins keep under keys of their own. With a rowid, for values may be large; the keys stand in the index.
CREATE TABLE value (
    plugin TEXT NOT NULL,
    key    TEXT NOT NULL,
    value  BLOB NOT NULL,
    PRIMARY KEY (plugin, key)
);

-- How much each plugin keeps: the bytes of its keys and values.
CREATE TABLE value_sum (
    plugin TEXT PRIMARY KEY,
    bytes  INTEGER NOT NULL
) WITHOUT ROWID;

-- What the attempts of a step saved for the one that follows.
CREATE TABLE saved (
    run   BLOB NOT NULL,
    step  INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (run, step)
);

-- What a step cost, in millionths of the budget's currency, and the sum beside the step itself.
CREATE TABLE cost (
    run      BLOB NOT NULL,
    step     INTEGER NOT NULL,
    attempt  INTEGER NOT NULL,
    number   INTEGER NOT NULL,
    category TEXT NOT NULL,
    what     TEXT NOT NULL,
    micros   INTEGER NOT NULL,
    PRIMARY KEY (run, step, attempt, number)
) WITHOUT ROWID;

ALTER TABLE step ADD COLUMN cost INTEGER NOT NULL DEFAULT 0;
