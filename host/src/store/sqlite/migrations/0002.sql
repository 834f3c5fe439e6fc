-- `removed` is when the texts of a run that has ended went: its input, its result and its logs.
ALTER TABLE run ADD COLUMN removed INTEGER;

-- Runs whose texts will go, by the moment from which their time runs.
CREATE INDEX run_to_empty ON run (ended) WHERE state IN ('completed', 'failed') AND removed IS NULL;

-- Runs that failed or wait for a person: few among many.
CREATE INDEX run_not_done ON run (state) WHERE state NOT IN ('running', 'completed');

-- SHA-256 of the texts that went; `input` is empty then, and `body` is not there.
ALTER TABLE payload ADD COLUMN input_hash BLOB;
ALTER TABLE payload ADD COLUMN body_hash BLOB;
