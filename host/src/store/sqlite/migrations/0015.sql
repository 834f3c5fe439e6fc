-- Calls in the background: when their time is over, since when they wait, and the scene that they were asked for in.
ALTER TABLE run ADD COLUMN until INTEGER;
ALTER TABLE run ADD COLUMN waits INTEGER;
ALTER TABLE run ADD COLUMN scene TEXT;

-- Those that wait, by when they go on.
CREATE INDEX run_to_drive ON run (wakes) WHERE until IS NOT NULL AND state = 'backing_off';

-- How often each process has renewed the leases of the runs that it is at: one that does not is taken for asleep.
CREATE TABLE renewed (
    process BLOB PRIMARY KEY,
    times   INTEGER NOT NULL
) WITHOUT ROWID;

-- Runs whose texts will go, those among them whose time was over.
DROP INDEX run_to_empty;
CREATE INDEX run_to_empty ON run (ended)
    WHERE state IN ('completed', 'failed', 'timed_out', 'rolled_back') AND removed IS NULL;
