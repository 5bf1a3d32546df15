-- migrate_8.sql - makes of a database of schema version 8 one of version 9, as this program did then; for
-- test_store_migrate.c.
--
-- Version 9 has other views, which the test replaces anyway.

SELECT 1;
