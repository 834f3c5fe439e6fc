-- On whose behalf the caller asked, where it said so.
ALTER TABLE run ADD COLUMN user TEXT;
