-- The same indexes under conditions that every insert and update can check at once: for a list of more than two values
-- SQLite first makes a table of them.
DROP INDEX run_under_way;
CREATE INDEX run_under_way ON run (owner) WHERE state = 'running' OR state = 'backing_off' OR state = 'rolling_back';

-- Runs whose texts will go, by their end; those that wait for a person are looked at and left.
DROP INDEX run_to_empty;
CREATE INDEX run_to_empty ON run (ended) WHERE ended IS NOT NULL AND removed IS NULL;
