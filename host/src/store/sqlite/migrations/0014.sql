-- Calls that were refused before they had a run, in their order: who asked for what, and why not.
CREATE TABLE refused (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    trace  TEXT NOT NULL,
    tool   TEXT NOT NULL,
    caller TEXT NOT NULL,
    user   TEXT,
    code   TEXT NOT NULL
);

CREATE INDEX refused_of_trace ON refused (trace, id);
