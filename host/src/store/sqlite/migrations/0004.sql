-- What is kept beside a result: what was left out of it, the whole, the output as the tool gave it where not all of it
-- is shown, and how many attachments go with it. `unshown` says which fields are not to be seen.
ALTER TABLE payload ADD COLUMN trimmed TEXT;
ALTER TABLE payload ADD COLUMN whole TEXT;
ALTER TABLE payload ADD COLUMN output TEXT;
ALTER TABLE payload ADD COLUMN attached INTEGER NOT NULL DEFAULT 0;
ALTER TABLE payload ADD COLUMN unshown TEXT;

-- What came beside an input (`brought`) or goes beside an output (`given`). Bytes are kept once, by their SHA-256, as
-- long as a run holds them; name, type, size and hash stay.
CREATE TABLE attachment (
    run        BLOB NOT NULL,
    step       INTEGER NOT NULL,
    way        TEXT NOT NULL,
    place      INTEGER NOT NULL,
    name       TEXT NOT NULL,
    media_type TEXT NOT NULL,
    size       INTEGER NOT NULL,
    content    BLOB NOT NULL,
    held       INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (run, step, way, place)
) WITHOUT ROWID;

CREATE INDEX attachment_of_content ON attachment (content);

CREATE TABLE content (
    hash  BLOB PRIMARY KEY,
    bytes BLOB NOT NULL
);
