-- migrate_5.sql - leads a database of schema version 5 to version 6; embedded by tools/embed.
--
-- Version 6 remembers how the vendor library's best answer is configured, and of a comparison the untuned
-- answer, the vendor's error and the best of everything.  The text is that of schema.sql at version 6, to
-- the letter (db/store_deploy.c).

DROP VIEW winner;
DROP VIEW line;
ALTER TABLE baseline RENAME TO baseline_5;
CREATE TABLE baseline (
    device INTEGER NOT NULL REFERENCES device (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    warm_l2 INTEGER NOT NULL CHECK (warm_l2 IN (0, 1)),
    sweep INTEGER NOT NULL REFERENCES sweep (id),
    name TEXT NOT NULL,                               -- "cublasLt 13.1.0, answer 3 of 8"
    algo TEXT NOT NULL,                               -- its configuration (db/README.md); '': no candidate
    answers INTEGER NOT NULL CHECK (answers >= 0),    -- heuristic answers timed
    best INTEGER NOT NULL,                            -- index of the fastest
    us REAL NOT NULL CHECK (us > 0 AND us < 1e12),
    lo_us REAL NOT NULL CHECK (lo_us >= 0),
    hi_us REAL NOT NULL CHECK (hi_us >= 0),
    first_us REAL NOT NULL CHECK (first_us >= 0),     -- median of the first answer
    err_u REAL NOT NULL CHECK (err_u >= 0),
    samples BLOB NOT NULL CHECK (length(samples) % 4 = 0),
    at INTEGER NOT NULL,
    PRIMARY KEY (device, problem, warm_l2)
) STRICT, WITHOUT ROWID;
INSERT INTO baseline SELECT device, problem, warm_l2, sweep, name, '', answers, best, us, lo_us, hi_us,
    first_us, err_u, samples, at FROM baseline_5;
DROP TABLE baseline_5;
ALTER TABLE comparison RENAME TO comparison_5;
CREATE TABLE comparison (
    device INTEGER NOT NULL REFERENCES device (id),
    toolchain INTEGER NOT NULL REFERENCES toolchain (id),
    kernel INTEGER NOT NULL REFERENCES kernel (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    point TEXT NOT NULL,
    warm_l2 INTEGER NOT NULL CHECK (warm_l2 IN (0, 1)),
    us REAL NOT NULL CHECK (us > 0 AND us < 1e12),
    lo_us REAL NOT NULL CHECK (lo_us >= 0 AND lo_us <= us),
    hi_us REAL NOT NULL CHECK (hi_us >= us),
    err_u REAL NOT NULL CHECK (err_u >= 0),
    baseline_us REAL NOT NULL CHECK (baseline_us >= 0), -- of the same rounds; 0: there is none
    copy_gbps REAL NOT NULL CHECK (copy_gbps >= 0),   -- of a copy in the same run; 0: not measured
    move_us REAL NOT NULL CHECK (move_us >= 0),       -- of a kernel that only reads A, B (and C) and writes D; 0: likewise
    baseline_err_u REAL NOT NULL CHECK (baseline_err_u >= 0), -- as err_u; 0: not measured
    best_us REAL NOT NULL CHECK (best_us >= 0),       -- of the winner or the vendor's answer, as the sweep chose; 0: it did not
    untuned TEXT NOT NULL,                            -- kernel and point of the answer without this database; '': not timed
    untuned_us REAL NOT NULL CHECK (untuned_us >= 0), -- of the same rounds; 0: not timed
    worse INTEGER NOT NULL CHECK (worse IN (0, 1)),   -- 1: the winner is slower than that, by more than the noise
    at INTEGER NOT NULL,
    PRIMARY KEY (device, toolchain, kernel, problem, warm_l2, point)
) STRICT, WITHOUT ROWID;
INSERT INTO comparison SELECT device, toolchain, kernel, problem, point, warm_l2, us, lo_us, hi_us, err_u,
    baseline_us, copy_gbps, move_us, 0, 0, '', 0, 0, at FROM comparison_5;
DROP TABLE comparison_5;
CREATE VIEW line AS
SELECT d.name AS device, d.uuid AS uuid, d.cc AS cc, d.driver AS driver, c.nvrtc AS nvrtc,
    p.text AS problem, p.dtype AS dtype, p.accuracy AS accuracy, p.layout AS layout,
    p.m AS m, p.n AS n, p.k AS k, p.batch AS batch,
    k.name AS kernel, k.signature AS signature, t.point AS point,
    t.status AS status, t.provenance AS provenance, t.warm_l2 AS warm_l2, t.stage AS stage,
    t.us AS us, t.lo_us AS lo_us, t.hi_us AS hi_us, t.err_u AS err_u, t.clock_mhz AS clock_mhz,
    t.registers AS registers, t.shared_bytes AS shared_bytes,
    t.workspace_bytes AS workspace_bytes, t.varies AS varies, t.detail AS detail,
    CASE t.provenance WHEN 'measured' THEN coalesce(b.us, 0) ELSE 0 END AS baseline_us,
    CASE t.provenance WHEN 'measured' THEN coalesce(b.name, '') ELSE '' END AS baseline,
    CASE t.provenance WHEN 'measured' THEN coalesce(b.algo, '') ELSE '' END AS algo,
    strftime('%Y-%m-%dT%H:%M:%SZ', t.at / 1000, 'unixepoch') AS date,
    t.status = 'ok' AS ok,
    NOT EXISTS (SELECT 1 FROM kernel AS later WHERE later.name = k.name
        AND (later.seen, later.id) > (k.seen, k.id)) AS current,
    t.provenance <> 'predicted' AND coalesce(i.chosen, 0) AS chosen,
    CASE WHEN t.provenance <> 'predicted' AND i.point IS NOT NULL THEN
        (SELECT count(*) - 1 FROM tie AS peer WHERE peer.device = t.device
            AND peer.problem = t.problem AND peer.warm_l2 = t.warm_l2) ELSE 0 END AS ties
FROM trial AS t
    JOIN device AS d ON d.id = t.device
    JOIN toolchain AS c ON c.id = t.toolchain
    JOIN kernel AS k ON k.id = t.kernel
    JOIN problem AS p ON p.id = t.problem
    LEFT JOIN baseline AS b
        ON b.device = t.device AND b.problem = t.problem AND b.warm_l2 = t.warm_l2
    LEFT JOIN tie AS i ON i.device = t.device AND i.problem = t.problem
        AND i.warm_l2 = t.warm_l2 AND i.kernel = k.name AND i.point = t.point;
CREATE VIEW winner AS
SELECT * FROM (
    SELECT *, row_number() OVER (
        PARTITION BY device, cc, problem, warm_l2, provenance = 'replayed'
        ORDER BY provenance, stage DESC, us * (1 - 0.01 * chosen), kernel, point, driver DESC,
            nvrtc DESC, uuid, signature) AS place
    FROM line WHERE ok AND current)
WHERE place = 1;
