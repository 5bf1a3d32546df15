-- migrate_6.sql - makes of a database of schema version 6 one of version 7, as this program did then; for
-- test_store_migrate.c.
--
-- In version 7 `warm_l2` is `timing`, which knows a third way: chains of launches in a CUDA graph.  No row
-- changes, only the text of the schema.

PRAGMA writable_schema=ON;
UPDATE sqlite_schema SET sql = replace(replace(replace(sql, 'warm_l2 IN (0, 1)', 'timing IN (0, 1, 2)'),
    '-- 1: operands left in L2', '-- 0 cold, 1 warm, 2 graph'), 'warm_l2', 'timing');
PRAGMA writable_schema=RESET;
