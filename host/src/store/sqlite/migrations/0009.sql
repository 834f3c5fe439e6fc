-- When a run that waits for its next attempt goes on.
ALTER TABLE run ADD COLUMN wakes INTEGER;

-- How tools stand with origins where anything went wrong of late: the state of the breaker as JSON, and the tokens that
-- are left for retries. Where nothing did, there is no row.
CREATE TABLE health (
    tool    TEXT NOT NULL,
    origin  TEXT NOT NULL,
    breaker TEXT NOT NULL,
    tokens  INTEGER NOT NULL,
    PRIMARY KEY (tool, origin)
) WITHOUT ROWID;

DROP INDEX run_under_way;
CREATE INDEX run_under_way ON run (owner) WHERE state IN ('running', 'backing_off', 'rolling_back');
