-- schema.sql - the tuning database, schema version 11; embedded into the program by tools/embed.
--
-- A trial is keyed by everything it depends on: device (with its driver), toolchain, kernel (by
-- signature), problem, point and timing (0 cold, 1 warm, 2 graph: enum gt_timing in
-- src/problem/trial.h).  Measured, predicted and replayed rows have different
-- keys, so none can take another's place.  Times are microseconds; `at` and `seen` are milliseconds
-- since 1970-01-01 UTC.  application_id and user_version are set by db/store_open.c.

-- A GPU with its driver, a profile of one, or a recording (uuid "replay:" and its digest).
CREATE TABLE device (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL CHECK (name <> ''),            -- "NVIDIA H200", or the profile's name
    uuid TEXT NOT NULL,                               -- '' for a profile
    cc INTEGER NOT NULL CHECK (cc >= 0),              -- 90 for sm_90; 0: a recording does not say
    driver INTEGER NOT NULL CHECK (driver >= 0),      -- CUDA version of the driver; 0: a profile
    profile INTEGER NOT NULL CHECK (profile IN (0, 1)), -- 1: nothing can be measured on it
    sms INTEGER NOT NULL CHECK (sms >= 0),            -- multiprocessors
    l2_bytes INTEGER NOT NULL CHECK (l2_bytes >= 0),
    memory_bytes INTEGER NOT NULL CHECK (memory_bytes >= 0),
    clock_mhz REAL NOT NULL CHECK (clock_mhz >= 0),   -- sustained SM clock
    UNIQUE (name, uuid, cc, driver, profile)
) STRICT;

-- What compiled source to machine code.
CREATE TABLE toolchain (
    id INTEGER PRIMARY KEY,
    nvrtc INTEGER NOT NULL CHECK (nvrtc >= 0),        -- 13000 for NVRTC 13.0
    UNIQUE (nvrtc)
) STRICT;

-- A kernel as it was: template and description are kept, so that old rows stay explainable.
CREATE TABLE kernel (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL CHECK (name <> ''),
    signature TEXT NOT NULL CHECK (signature <> ''),  -- digest of template, includes, description
    description TEXT NOT NULL,                        -- configs/kernels/NAME.json
    template TEXT NOT NULL,                           -- the .cu file
    seen INTEGER NOT NULL CHECK (seen >= 0),          -- when a sweep last used it
    UNIQUE (name, signature)
) STRICT;

-- What was computed; text is the canonical form of which all other columns are parts.
CREATE TABLE problem (
    id INTEGER PRIMARY KEY,
    text TEXT NOT NULL CHECK (text <> ''),            -- "4096x4096x4096:f32:nn"
    dtype TEXT NOT NULL CHECK (dtype <> ''),          -- of A and B
    accuracy TEXT NOT NULL CHECK (accuracy <> ''),
    layout TEXT NOT NULL CHECK (layout IN ('nn', 'nt', 'tn', 'tt')),
    m INTEGER NOT NULL CHECK (m >= 0),
    n INTEGER NOT NULL CHECK (n >= 0),
    k INTEGER NOT NULL CHECK (k >= 0),
    batch INTEGER NOT NULL CHECK (batch >= 1),
    type_b TEXT NOT NULL AS (iif(instr(text, ':b='), substr(text, instr(text, ':b=') + 3,
        instr(substr(text, instr(text, ':b=') + 3) || ':', ':') - 1), dtype)),
    scale_a TEXT NOT NULL AS (iif(instr(text, ':scale_a='), substr(text, instr(text, ':scale_a=') + 9,
        instr(substr(text, instr(text, ':scale_a=') + 9) || ':', ':') - 1), '')), -- "vector"; '': none
    scale_b TEXT NOT NULL AS (iif(instr(text, ':scale_b='), substr(text, instr(text, ':scale_b=') + 9,
        instr(substr(text, instr(text, ':scale_b=') + 9) || ':', ':') - 1), '')),
    groups INTEGER NOT NULL AS (iif(instr(text, ':groups='), CAST(substr(text, instr(text, ':groups=') + 8,
        instr(substr(text, instr(text, ':groups=') + 8) || ':', ':') - 1) AS INTEGER), 0)),
    UNIQUE (text)
) STRICT;

-- One run of `tune`, or a merge.
CREATE TABLE sweep (
    id INTEGER PRIMARY KEY,
    command TEXT NOT NULL,                            -- its words, for people
    started INTEGER NOT NULL,
    ended INTEGER,                                    -- NULL: still running, or killed
    outcome TEXT,                                     -- how it ended, for people
    wall_s REAL NOT NULL DEFAULT 0,
    busy_s REAL NOT NULL DEFAULT 0,                   -- of the GPU worker
    trials INTEGER NOT NULL DEFAULT 0,
    compiled INTEGER NOT NULL DEFAULT 0,
    to_best_s REAL NOT NULL DEFAULT 0                 -- until within 2 % of the final best
) STRICT;

-- Launches of a candidate: written before the launch, closed by its trial.  Open and old means that
-- the candidate took the tuner, or the machine, down.
CREATE TABLE attempt (
    device INTEGER NOT NULL REFERENCES device (id),
    toolchain INTEGER NOT NULL REFERENCES toolchain (id),
    kernel INTEGER NOT NULL REFERENCES kernel (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    point TEXT NOT NULL,
    timing INTEGER NOT NULL CHECK (timing IN (0, 1, 2)),
    sweep INTEGER NOT NULL REFERENCES sweep (id),     -- the latest one
    count INTEGER NOT NULL CHECK (count >= 1),        -- launches so far
    open INTEGER NOT NULL CHECK (open IN (0, 1)),     -- 1: the last one has no trial yet
    at INTEGER NOT NULL,                              -- of the last one
    PRIMARY KEY (device, toolchain, kernel, problem, timing, point)
) STRICT, WITHOUT ROWID;

-- What became of a candidate.
CREATE TABLE trial (
    id INTEGER PRIMARY KEY,
    device INTEGER NOT NULL REFERENCES device (id),
    toolchain INTEGER NOT NULL REFERENCES toolchain (id),
    kernel INTEGER NOT NULL REFERENCES kernel (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    point TEXT NOT NULL,                              -- "BM=128,BN=64,..."
    timing INTEGER NOT NULL CHECK (timing IN (0, 1, 2)), -- 0 cold, 1 warm, 2 graph
    provenance TEXT NOT NULL CHECK (provenance IN ('measured', 'predicted', 'replayed')),
    sweep INTEGER NOT NULL REFERENCES sweep (id),     -- the run that wrote this row
    status TEXT NOT NULL CHECK (status <> ''),        -- a name of GT_STATUS_MAP (src/trial.h)
    stage INTEGER NOT NULL CHECK (stage BETWEEN 0 AND 3), -- deepest timing stage reached
    us REAL NOT NULL CHECK (us >= 0 AND us < 1e12),   -- median; 0: not timed
    lo_us REAL NOT NULL CHECK (lo_us >= 0 AND lo_us < 1e12), -- 95 % interval of the median
    hi_us REAL NOT NULL CHECK (hi_us >= 0 AND hi_us < 1e12),
    err_u REAL NOT NULL CHECK (err_u >= 0),           -- max |c-ref| / |A||B|, in units of 2^-24
    registers INTEGER NOT NULL CHECK (registers >= 0),
    spill_bytes INTEGER NOT NULL CHECK (spill_bytes >= 0),
    static_shared INTEGER NOT NULL CHECK (static_shared >= 0), -- bytes of a block
    shared_bytes INTEGER NOT NULL CHECK (shared_bytes >= 0),   -- of a block, static + dynamic
    workspace_bytes INTEGER NOT NULL CHECK (workspace_bytes >= 0),
    clock_mhz REAL NOT NULL CHECK (clock_mhz >= 0),   -- SM clock while timing; 0: not seen
    compile_ms REAL NOT NULL CHECK (compile_ms >= 0), -- what the trial cost
    prove_ms REAL NOT NULL CHECK (prove_ms >= 0),
    time_ms REAL NOT NULL CHECK (time_ms >= 0),
    varies INTEGER NOT NULL CHECK (varies IN (0, 1)), -- 1: last bits may differ between launches
    detail TEXT NOT NULL,                             -- why, for people
    samples BLOB NOT NULL CHECK (length(samples) % 4 = 0), -- little-endian float32 microseconds
    at INTEGER NOT NULL,
    UNIQUE (device, toolchain, kernel, problem, timing, provenance, point),
    CHECK (status <> 'ok' OR (us > 0 AND lo_us <= us AND (hi_us >= us OR hi_us = 0)))
) STRICT;

-- What a look-up needs of a trial to know whether it may be a winner, without its row.
CREATE INDEX trial_of_problem ON trial (problem, device, timing, provenance, status, stage, us, kernel);

-- The vendor library's best answer, timed in the same run as the finalists.
CREATE TABLE baseline (
    device INTEGER NOT NULL REFERENCES device (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    timing INTEGER NOT NULL CHECK (timing IN (0, 1, 2)),
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
    PRIMARY KEY (device, problem, timing)
) STRICT, WITHOUT ROWID;

-- Finalists that could not be told from the winner, and the winner that a stable rule chose.
CREATE TABLE tie (
    device INTEGER NOT NULL REFERENCES device (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    timing INTEGER NOT NULL CHECK (timing IN (0, 1, 2)),
    kernel TEXT NOT NULL,                             -- its name
    point TEXT NOT NULL,
    chosen INTEGER NOT NULL CHECK (chosen IN (0, 1)), -- 1: the winner
    PRIMARY KEY (device, problem, timing, kernel, point)
) STRICT, WITHOUT ROWID;

-- What a device reaches, measured by `tune doctor --calibrate`: the latest of each figure.
CREATE TABLE calibration (
    device INTEGER NOT NULL REFERENCES device (id),
    figure TEXT NOT NULL CHECK (figure <> ''),        -- a name of GT_CALIBRATION_MAP (src/calibrate.h)
    value REAL NOT NULL CHECK (value > 0),            -- in the unit given there
    at INTEGER NOT NULL,
    PRIMARY KEY (device, figure)
) STRICT, WITHOUT ROWID;

-- A winner timed beside the vendor library by `tune bench`: the latest of each.
CREATE TABLE comparison (
    device INTEGER NOT NULL REFERENCES device (id),
    toolchain INTEGER NOT NULL REFERENCES toolchain (id),
    kernel INTEGER NOT NULL REFERENCES kernel (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    point TEXT NOT NULL,
    timing INTEGER NOT NULL CHECK (timing IN (0, 1, 2)),
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
    PRIMARY KEY (device, toolchain, kernel, problem, timing, point)
) STRICT, WITHOUT ROWID;

-- A problem's turn in a sweep that measured.
CREATE TABLE visit (
    id INTEGER PRIMARY KEY,
    device INTEGER NOT NULL REFERENCES device (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    timing INTEGER NOT NULL CHECK (timing IN (0, 1, 2)),
    sweep INTEGER NOT NULL REFERENCES sweep (id),
    kernels TEXT NOT NULL,                            -- that took part: "hopper,mma"
    strategy TEXT NOT NULL,                           -- as named: "auto", "local:walkers=1"
    seed INTEGER NOT NULL,
    known INTEGER NOT NULL CHECK (known >= 0),        -- trials of earlier runs
    trials INTEGER NOT NULL CHECK (trials >= 0),      -- of this visit
    seconds REAL NOT NULL CHECK (seconds >= 0),       -- all of it, finals included
    race_s REAL NOT NULL CHECK (race_s >= 0),         -- before the finals
    busy_s REAL NOT NULL CHECK (busy_s >= 0),         -- GPU worker at work before the finals
    us REAL NOT NULL CHECK (us >= 0),                 -- of the winner in the final; 0: there was none
    baseline_us REAL NOT NULL CHECK (baseline_us >= 0), -- in the same final; 0: there is none
    at INTEGER NOT NULL,                              -- when it ended
    UNIQUE (device, problem, timing, at)
) STRICT;

-- Each time the best of a visit got better.
CREATE TABLE improvement (
    visit INTEGER NOT NULL REFERENCES visit (id),
    place INTEGER NOT NULL CHECK (place >= 0),        -- 0, 1...
    trials INTEGER NOT NULL CHECK (trials >= 0),      -- of this visit by then
    seconds REAL NOT NULL CHECK (seconds >= 0),       -- since its beginning
    us REAL NOT NULL CHECK (us > 0),                  -- as the race timed it: the finals may differ
    PRIMARY KEY (visit, place)
) STRICT, WITHOUT ROWID;

-- What a product costs, measured by `tune energy`: the latest of each candidate.
CREATE TABLE energy (
    device INTEGER NOT NULL REFERENCES device (id),
    problem INTEGER NOT NULL REFERENCES problem (id),
    kernel TEXT NOT NULL,                             -- its name; 'cublaslt': the vendor's best answer
    signature TEXT NOT NULL,                          -- of the kernel; '' of the vendor's
    point TEXT NOT NULL,
    us REAL NOT NULL CHECK (us > 0),                  -- a product's time in the same run, launches without a gap
    joules REAL NOT NULL CHECK (joules > 0),          -- of a product, the whole GPU
    error REAL NOT NULL CHECK (error >= 0),           -- bound of its relative error
    watts REAL NOT NULL CHECK (watts > 0),
    clock_mhz REAL NOT NULL CHECK (clock_mhz >= 0),   -- SM clock at the end; 0: not seen
    launches INTEGER NOT NULL CHECK (launches > 0),
    counted INTEGER NOT NULL CHECK (counted IN (0, 1)), -- 1: by the energy counter; 0: from the power
    at INTEGER NOT NULL,
    PRIMARY KEY (device, problem, kernel, signature, point)
) STRICT, WITHOUT ROWID;

-- 'winners': the digest of the winners, in an exported copy and in a database that its writer closed.
-- 'job ID,WORKER': rows of that job of a queue, whose problem is the value, are to be uploaded.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- A trial with all it refers to.  current: its kernel's template was not replaced by a later one.
CREATE VIEW line AS
SELECT t.id AS id, d.name AS device, d.uuid AS uuid, d.cc AS cc, d.driver AS driver, c.nvrtc AS nvrtc,
    p.text AS problem, p.dtype AS dtype, p.accuracy AS accuracy, p.layout AS layout,
    p.m AS m, p.n AS n, p.k AS k, p.batch AS batch,
    p.type_b AS type_b, p.scale_a AS scale_a, p.scale_b AS scale_b, p.groups AS groups,
    k.name AS kernel, k.signature AS signature, t.point AS point,
    t.status AS status, t.provenance AS provenance, t.timing AS timing, t.stage AS stage,
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
            AND peer.problem = t.problem AND peer.timing = t.timing) ELSE 0 END AS ties
FROM trial AS t
    JOIN device AS d ON d.id = t.device
    JOIN toolchain AS c ON c.id = t.toolchain
    JOIN kernel AS k ON k.id = t.kernel
    JOIN problem AS p ON p.id = t.problem
    LEFT JOIN baseline AS b
        ON b.device = t.device AND b.problem = t.problem AND b.timing = t.timing
    LEFT JOIN tie AS i ON i.device = t.device AND i.problem = t.problem
        AND i.timing = t.timing AND i.kernel = k.name AND i.point = t.point;

-- The best row of each (device, problem, L2 mode), and the best replayed one: measured before
-- predicted (so their names sort), deeper timing stages before shallower ones, then the shorter time; the choice among finalists that tie wins unless a
-- row of another final is more than 1 % faster (times of two runs agree no better than that).
CREATE VIEW winner AS
SELECT * FROM (
    SELECT *, row_number() OVER (
        PARTITION BY device, cc, problem, timing, provenance = 'replayed'
        ORDER BY provenance, stage DESC, us * (1 - 0.01 * chosen), kernel, point, driver DESC,
            nvrtc DESC, uuid, signature) AS place
    FROM line WHERE ok AND current)
WHERE place = 1;

-- Measured energies with the winners of each objective (1: it is one): least time, energy, their product.
-- Candidates whose kernel's template was replaced by a later one take no part.
CREATE VIEW objective AS
SELECT d.name AS device, d.uuid AS uuid, d.driver AS driver, p.text AS problem, e.kernel AS kernel, e.point AS point, e.us AS us,
    e.joules AS joules, e.us * e.joules AS edp, e.error AS error, e.watts AS watts,
    e.clock_mhz AS clock_mhz, e.counted AS counted,
    e.us = min(e.us) OVER same AS by_time, e.joules = min(e.joules) OVER same AS by_energy,
    e.us * e.joules = min(e.us * e.joules) OVER same AS by_edp,
    strftime('%Y-%m-%dT%H:%M:%SZ', e.at / 1000, 'unixepoch') AS date
FROM energy AS e JOIN device AS d ON d.id = e.device JOIN problem AS p ON p.id = e.problem
WHERE NOT EXISTS (SELECT 1 FROM kernel AS k JOIN kernel AS later ON later.name = k.name
    WHERE k.name = e.kernel AND k.signature = e.signature
        AND (later.seen, later.id) > (k.seen, k.id))
WINDOW same AS (PARTITION BY e.device, e.problem);
