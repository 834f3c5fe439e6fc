-- What effects changed below lent folders: what lay there before, whole, and by what it is told what lies there since.
-- With a rowid, for contents may be large. `moved_to` stands where something moved; it is then neither before nor after.
CREATE TABLE change (
    run       BLOB NOT NULL,
    step      INTEGER NOT NULL,
    attempt   INTEGER NOT NULL,
    ordinal   INTEGER NOT NULL,
    directory TEXT NOT NULL,
    root      BLOB NOT NULL,
    path      TEXT NOT NULL,
    moved_to  TEXT,
    before    TEXT NOT NULL,
    content   BLOB,
    mode      INTEGER,
    size      INTEGER NOT NULL,
    after     TEXT NOT NULL,
    hash      BLOB,
    PRIMARY KEY (run, step, attempt, ordinal)
);
