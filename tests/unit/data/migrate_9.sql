-- migrate_9.sql - makes of a database of schema version 9 one of version 10, as this program did then; for
-- test_store_migrate.c.
--
-- Version 10 finds winners in the index of a problem's trials, and has another view, which the test replaces anyway.

DROP INDEX trial_of_problem;
CREATE INDEX trial_of_problem ON trial (problem, device, timing, provenance, status, stage, us, kernel);
