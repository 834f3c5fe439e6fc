-- What is saved belongs to the attempt that saved it, and goes where what that one changed in lent folders is put back.
CREATE TABLE saved_by (
    run     BLOB NOT NULL,
    step    INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    bytes   BLOB NOT NULL,
    PRIMARY KEY (run, step, attempt)
);
INSERT INTO saved_by (run, step, attempt, bytes)
    SELECT saved.run, saved.step, step.attempts, saved.bytes
    FROM saved JOIN step ON step.run = saved.run AND step.step = saved.step;
DROP TABLE saved;
ALTER TABLE saved_by RENAME TO saved;
