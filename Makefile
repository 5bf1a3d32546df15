# gemmtune: every source is listed once, below.  `make help` says what can be made.
#
# A clean clone needs nothing by hand: everything built depends on a stamp that tools/setup leaves.
# SAN=address,undefined builds (and checks) in a folder of its own, with those sanitizers.
VERSION   := 0.1.0
SOVERSION := 0
CC        ?= cc
PREFIX    ?= /usr/local
LIBDIR    ?= $(PREFIX)/lib
SAN       ?=
comma     := ,
# Compiled in and written to gemmtune.pc, so a relative one would depend on who reads it from where.
override PREFIX := $(if $(filter /%,$(PREFIX)),$(PREFIX),$(CURDIR)/$(PREFIX))
override LIBDIR := $(if $(filter /%,$(LIBDIR)),$(LIBDIR),$(PREFIX)/$(LIBDIR))
BUILD     ?= build$(if $(SAN),/$(subst $(comma),-,$(SAN)))
# One name for one folder: what an object depends on is noted under its target's name.
# subst, not patsubst: the folder's path may contain spaces.
override BUILD := $(subst $(CURDIR)/,,$(BUILD))
# What `make install` copies; a folder of its own, because the paths in it are others.
INSTALLED ?= $(BUILD)/installed
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif
ifneq ($(filter clean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

Q := $(if $(filter 1,$(V)),,@)
CFLAGS   ?= -O2 -g
# WERROR=1 makes warnings errors (.ci/run does): a compiler newer than these sources finds others.
WARNINGS := -Wall -Wextra -Wwrite-strings -Wvla -Wstrict-prototypes -Wmissing-prototypes \
            $(if $(findstring clang,$(shell $(CC) --version 2>/dev/null)),,-Wno-format-truncation) \
            $(if $(filter 1,$(WERROR)),-Werror)
GT_CFLAGS := -std=c11 -D_GNU_SOURCE $(WARNINGS) -fPIC -MMD -MP -ffunction-sections -fdata-sections \
             -I. -Isrc -Ituner -I$(BUILD) $(CFLAGS)
LDLIBS   := -lsqlite3 -lcjson -lz -lm -ldl -lpthread
ifneq ($(SAN),)
GT_CFLAGS += -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all
LDFLAGS   += -fsanitize=$(SAN)
endif

# The runtime library: src/ and the reading side of db/.  One file a line.
LIB_SRC := \
	src/base/clock.c \
	src/base/digest.c \
	src/base/err.c \
	src/base/json.c \
	src/base/place.c \
	src/base/quiet.c \
	src/base/stats.c \
	src/base/strbuf.c \
	src/base/trust.c \
	src/problem/device.c \
	src/problem/measured.c \
	src/problem/problem.c \
	src/problem/trial.c \
	src/kernel/data_dir.c \
	src/kernel/expr.c \
	src/kernel/kernel.c \
	src/kernel/kernel_geometry.c \
	src/kernel/kernel_point.c \
	src/kernel/kernel_reader.c \
	src/kernel/kernel_serves.c \
	src/kernel/kernel_signature.c \
	src/kernel/kernel_template.c \
	src/kernel/render.c \
	src/cuda/cache.c \
	src/cuda/compile.c \
	src/cuda/cublaslt.c \
	src/cuda/cuda_api.c \
	src/cuda/gpu.c \
	src/cuda/libraries.c \
	src/cuda/module.c \
	src/cuda/sources.c \
	db/store_open.c \
	db/store_rows.c \
	db/store_statement.c \
	src/lookup/deployed.c \
	src/lookup/lookup.c \
	src/lookup/lookup_choose.c \
	src/lookup/lookup_explain.c \
	src/lookup/lookup_open.c \
	src/lookup/lookup_repair.c \
	src/lookup/lookup_tiers.c \
	src/lookup/plan.c \
	src/lookup/plan_run.c \
	src/lookup/predict.c \
	src/lookup/ranking_ask.c \
	src/lookup/ranking_read.c \
	src/lookup/table.c \


# What is preloaded into programs: the hooks before cuBLAS, with the library inside.
SERVE_SRC := \
	src/serve/call.c \
	src/serve/check.c \
	src/serve/handle.c \
	src/serve/hooks.c \
	src/serve/policy.c \
	src/serve/real.c \
	src/serve/report.c \
	src/serve/serve.c \
	src/serve/session.c \

# The program: the writing side of db/ and tuner/.
TUNE_SRC := \
	tuner/main.c \
	src/cuda/graph.c \
	db/store.c \
	db/store_deploy.c \
	db/store_forget.c \
	db/store_merge.c \
	db/store_records.c \
	db/store_writer.c \
	tuner/proof/proof.c \
	tuner/proof/resident.c \
	tuner/proof/verify.c \
	tuner/timing/baseline.c \
	tuner/timing/bench.c \
	tuner/timing/bench_final.c \
	tuner/timing/bench_workspace.c \
	tuner/timing/calibrate.c \
	tuner/timing/chain.c \
	tuner/timing/energy.c \
	tuner/timing/throttle.c \
	tuner/timing/williams.c \
	$(sort $(wildcard tuner/search/*.c tuner/search/auto/*.c)) \
	tuner/learn/boost.c \
	tuner/learn/learn.c \
	tuner/learn/learn_write.c \
	tuner/workers/compile_job.c \
	tuner/workers/compile_pool.c \
	tuner/workers/compile_reason.c \
	tuner/workers/gpu_client.c \
	tuner/workers/lock.c \
	tuner/workers/process.c \
	tuner/workers/processors.c \
	tuner/workers/wire.c \
	tuner/workers/worker_compile.c \
	tuner/workers/worker_gpu.c \
	tuner/exchange/export.c \
	tuner/exchange/export_winners.c \
	tuner/exchange/export_space.c \
	tuner/exchange/export_t4.c \
	tuner/exchange/export_tables.c \
	tuner/exchange/foreign.c \
	tuner/exchange/python.c \
	tuner/exchange/recording.c \
	tuner/exchange/recording_read.c \
	tuner/exchange/t1.c \
	tuner/exchange/trials.c \
	tuner/evaluate/evaluator.c \
	tuner/evaluate/evaluator_cuda.c \
	tuner/evaluate/evaluator_cuda_finals.c \
	tuner/evaluate/evaluator_predict.c \
	tuner/evaluate/evaluator_replay.c \
	tuner/report/compare.c \
	tuner/report/page.c \
	tuner/sweep/drift.c \
	tuner/sweep/finals.c \
	tuner/sweep/incumbent.c \
	tuner/sweep/next.c \
	tuner/sweep/progress.c \
	tuner/sweep/race.c \
	tuner/sweep/ready.c \
	tuner/sweep/record.c \
	tuner/sweep/scout.c \
	tuner/sweep/shares.c \
	tuner/sweep/seeds.c \
	tuner/sweep/time_slices.c \
	tuner/sweep/sweep.c \
	tuner/sweep/transfer.c \
	$(sort $(wildcard tuner/cluster/*.c)) \
	tuner/recheck/cmd_adopt.c \
	tuner/measure/cmd_bench.c \
	tuner/measure/cmd_bench_report.c \
	tuner/commands/cmd_cache.c \
	tuner/measure/cmd_calibrate.c \
	tuner/recheck/cmd_carry.c \
	tuner/commands/cmd_capture.c \
	tuner/console/again.c \
	tuner/console/cmd_compile.c \
	tuner/commands/cmd_compare.c \
	tuner/commands/cmd_doctor.c \
	tuner/doctor/doctor_checks.c \
	tuner/commands/cmd_export.c \
	tuner/commands/cmd_forget.c \
	tuner/commands/deploy.c \
	tuner/commands/cmd_help.c \
	tuner/measure/cmd_energy.c \
	tuner/measure/cmd_ladder.c \
	tuner/doctor/cmd_learn.c \
	tuner/commands/cmd_list.c \
	tuner/commands/cmd_lookup.c \
	tuner/commands/cmd_merge.c \
	tuner/commands/cmd_page.c \
	tuner/doctor/cmd_predictor.c \
	tuner/commands/cmd_queue.c \
	tuner/recheck/cmd_recheck.c \
	tuner/session/cmd_report.c \
	tuner/commands/cmd_serve.c \
	src/serve/policy.c \
	tuner/session/cmd_session.c \
	tuner/session/cmd_session_problems.c \
	tuner/console/cmd_write.c \
	tuner/console/passwords.c \
	tuner/console/gpu_names.c \
	tuner/commands/cmd_show.c \
	tuner/commands/cmd_stored_energy.c \
	tuner/commands/cmd_tune.c \
	tuner/measure/cmd_try.c \
	tuner/console/commands.c \
	tuner/console/help.c \
	tuner/console/options.c \
	tuner/session/problemset.c \
	tuner/session/random_problems.c \
	tuner/doctor/quality.c \
	tuner/session/session_options.c \
	tuner/session/older.c \
	tuner/session/model_error.c \
	tuner/console/terminal.c \


# Unit tests: one program a file, tests/unit/<room>/test_<module>.c, run by `make check`; the longest
# first.
TESTS := \
	tests/unit/cuda/test_shared_loads.c \
	$(if $(SAN),,tests/unit/cuda/test_compile_everywhere.c) \
	tests/unit/sweep/test_sweep.c \
	tests/unit/sweep/test_sweep_faults.c \
	tests/unit/sweep/test_sweep_ahead.c \
	tests/unit/sweep/test_sweep_finals.c \
	tests/unit/sweep/test_sweep_machine.c \
	tests/unit/sweep/test_sweep_incumbent.c \
	tests/unit/sweep/test_sweep_ready.c \
	tests/unit/sweep/test_sweep_ranking.c \
	tests/unit/sweep/test_sweep_never_worse.c \
	tests/unit/sweep/test_sweep_problems.c \
	tests/unit/sweep/test_progress.c \
	tests/unit/sweep/test_time_slices.c \
	tests/unit/search/test_search_nomem.c \
	tests/unit/search/test_space.c \
	tests/unit/search/test_space_sample.c \
	tests/unit/search/test_space_walk.c \
	tests/unit/search/test_narrow.c \
	tests/unit/search/test_strategy.c \
	tests/unit/search/test_strategy_auto.c \
	tests/unit/search/test_gp.c \
	tests/unit/evaluate/test_evaluator_predict.c \
	tests/unit/evaluate/test_evaluator_replay.c \
	tests/unit/evaluate/test_evaluator_cuda.c \
	tests/unit/evaluate/test_evaluator_cuda_faults.c \
	tests/unit/workers/test_wire.c \
	tests/unit/workers/test_process.c \
	tests/unit/workers/test_lock.c \
	tests/unit/workers/test_processors.c \
	tests/unit/workers/test_tokens.c \
	tests/unit/workers/test_compile_pool.c \
	tests/unit/exchange/test_recording.c \
	tests/unit/exchange/test_foreign.c \
	tests/unit/exchange/test_t1.c \
	tests/unit/exchange/test_trials.c \
	tests/unit/exchange/test_export.c \
	tests/unit/exchange/test_export_space.c \
	tests/unit/exchange/test_export_tables.c \
	tests/unit/console/test_options.c \
	tests/unit/measure/test_cmd_bench_summary.c \
	tests/unit/cluster/test_devices_plan.c \
	tests/unit/cluster/test_queue_device.c \
	tests/unit/cluster/test_queue_outbox.c \
	tests/unit/console/test_cmd_csv.c \
	tests/unit/console/test_cmd_json.c \
	tests/unit/measure/test_cmd_try.c \
	tests/unit/doctor/test_quality.c \
	tests/unit/console/test_columns.c \
	tests/unit/console/test_passwords.c \
	tests/unit/console/test_terminal.c \
	tests/unit/session/test_problemset.c \
	tests/unit/session/test_random_problems.c \
	tests/unit/proof/test_verify.c \
	tests/unit/timing/test_calibrate.c \
	tests/unit/timing/test_williams.c \
	tests/unit/timing/test_bench.c \
	tests/unit/timing/test_bench_final.c \
	tests/unit/timing/test_bench_chains.c \
	tests/unit/timing/test_bench_faults.c \
	tests/unit/timing/test_energy.c \
	tests/unit/timing/test_bench_move.c \
	tests/unit/db/test_store.c \
	tests/unit/db/test_store_open.c \
	tests/unit/db/test_store_large.c \
	tests/unit/db/test_store_migrate.c \
	tests/unit/db/test_store_lost.c \
	tests/unit/db/test_store_flips.c \
	tests/unit/db/test_store_carry.c \
	tests/unit/db/test_store_merge.c \
	tests/unit/db/test_store_energy.c \
	tests/unit/db/test_store_shared.c \
	tests/unit/db/test_calibration.c \
	tests/unit/db/test_store_faults.c \
	tests/unit/db/test_store_memory.c \
	tests/unit/db/test_store_nomem.c \
	tests/unit/lookup/test_predict.c \
	tests/unit/lookup/test_ranking.c \
	tests/unit/lookup/test_ranking_shipped.c \
	tests/unit/lookup/test_rankings.c \
	tests/unit/learn/test_boost.c \
	tests/unit/learn/test_learn.c \
	tests/unit/learn/test_learn_choose.c \
	tests/unit/learn/test_learn_trials.c \
	tests/unit/learn/test_learn_write.c \
	tests/unit/lookup/test_predict_h200.c \
	tests/unit/lookup/test_table.c \
	tests/unit/lookup/test_lookup.c \
	tests/unit/lookup/test_lookup_contest.c \
	tests/unit/lookup/test_lookup_f32.c \
	tests/unit/lookup/test_lookup_answers.c \
	tests/unit/lookup/test_lookup_trust.c \
	tests/unit/lookup/test_lookup_contract.c \
	tests/unit/lookup/test_lookup_locale.c \
	tests/unit/lookup/test_lookup_breaks.c \
	tests/unit/lookup/test_lookup_few_rows.c \
	tests/unit/lookup/test_lookup_h200.c \
	tests/unit/lookup/test_plan.c \
	tests/unit/lookup/test_deployed.c \
	tests/unit/lookup/test_plan_cublaslt.c \
	tests/unit/lookup/test_plan_measure.c \
	tests/unit/lookup/test_plan_spills.c \
	tests/unit/lookup/test_plan_signals.c \
	tests/unit/lookup/test_plan_versions.c \
	tests/unit/cuda/test_compile.c \
	tests/unit/cuda/test_cache.c \
	tests/unit/cuda/test_gpu.c \
	tests/unit/cuda/test_libraries.c \
	tests/unit/cuda/test_module.c \
	tests/unit/kernel/test_expr.c \
	tests/unit/kernel/test_expr_random.c \
	tests/unit/kernel/test_kernel.c \
	tests/unit/kernel/test_kernel_geometry.c \
	tests/unit/kernel/test_kernel_json.c \
	tests/unit/kernel/test_kernel_maps.c \
	tests/unit/kernel/test_render.c \
	tests/unit/kernel/test_signature.c \
	tests/unit/kernel/test_bets.c \
	tests/unit/kernel/test_configs.c \
	tests/unit/kernel/test_default_database.c \
	tests/unit/problem/test_problem.c \
	tests/unit/problem/test_device.c \
	tests/unit/problem/test_trial.c \
	tests/unit/serve/test_policy.c \
	tests/unit/serve/test_call.c \
	tests/unit/serve/test_book.c \
	tests/unit/serve/test_workspace.c \
	tests/unit/base/test_nomem.c \
	tests/unit/base/test_near.c \
	tests/unit/base/test_array.c \
	tests/unit/base/test_digest.c \
	tests/unit/base/test_stats.c \
	tests/unit/base/test_trust.c \


# Fuzz targets, run over their corpus and a few seconds of mutations (tests/fuzz/driver.c).
FUZZ := \
	tests/fuzz/fuzz_expr.c \
	tests/fuzz/fuzz_problem.c \
	tests/fuzz/fuzz_ranges.c \
	tests/fuzz/fuzz_algo.c \
	tests/fuzz/fuzz_point.c \
	tests/fuzz/fuzz_kernel.c \
	tests/fuzz/fuzz_wire.c \
	tests/fuzz/fuzz_table.c \
	tests/fuzz/fuzz_ranking.c \
	tests/fuzz/fuzz_trials.c \
	tests/fuzz/fuzz_recording.c \
	tests/fuzz/fuzz_foreign.c \
	tests/fuzz/fuzz_t1.c \
	tests/fuzz/fuzz_policy.c \
	tests/fuzz/fuzz_deployed.c \

# Other programs and scripts that `make check` runs (paths; built by rules of their own if they are
# not in the repository).  They answer in TAP, or only by their exit status (77: skipped).  The one
# that takes longest comes first, so that short ones run beside it.
CHECKS := \
	$(if $(SAN),,$(BUILD)/tests/emu/emulate) \
	tests/faults/short_soak \
	tests/faults/short_powercut \
	tests/faults/flip_all \
	tests/replay/score_search \
	tests/serve/preloaded \
	$(FUZZ:%.c=$(BUILD)/%) \
	$(if $(SAN),,$(addprefix $(BUILD)/tests/emu/,exactness proof_kernels proof_types proof_served conversions)) \

# They wait more than they compute, and run beside the emulator's test, which has two processes.
WAITING := $(addprefix tests/cli/,joules.sh recheck.sh report.sh devices.sh setup.sh first-words.sh)

# What is shipped, and not what the code does: run by `make check-release`, or by name.
RELEASED := $(addprefix tests/cli/,documents.sh measure-steps.sh tables.sh seeds.sh programs.sh bundle.sh install.sh \
	wheel.sh cmake.sh)

# Tests that need a GPU, run by `make check-gpu`; without one they say so and are skipped.
GPU_TESTS := \
	tests/gpu/test_gpu_proof.c \
	tests/gpu/test_gpu_faults.c \
	tests/gpu/test_gpu_bench.c \
	tests/gpu/test_gpu_plan.c \
	tests/gpu/test_gpu_deployed.c \
	tests/gpu/test_gpu_types.c \
	tests/gpu/test_gpu_maps.c \

LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/%.o)
SERVE_OBJ := $(SERVE_SRC:%.c=$(BUILD)/%.o)
TUNE_OBJ := $(TUNE_SRC:%.c=$(BUILD)/%.o)
TEST_BIN := $(TESTS:%.c=$(BUILD)/%)
CLI_TESTS := $(sort $(wildcard tests/cli/*.sh))
# With T=space or T=doctor only that program or none needs to be built (parts of names: all of them).
NAMED    := $(if $(T),$(filter %/test_$(T:test_%=%),$(TEST_BIN)))
SCRIPT   := $(filter tests/cli/$(T).sh,$(CLI_TESTS))
SETUP    := $(BUILD)/setup.stamp
# A name that no test has is found out before everything is built.
ifneq ($(and $(T),$(filter check,$(MAKECMDGOALS))),)
TEST_NAMES := $(patsubst test_%,%,$(basename $(notdir $(TEST_BIN) $(CHECKS) $(CLI_TESTS))))
ifeq ($(strip $(foreach name,$(TEST_NAMES),$(findstring $(T:test_%=%),$(name)))),)
$(error no test is named '$(T)'; there are: $(sort $(TEST_NAMES)))
endif
endif

## all: build the program and the library
.PHONY: all
all: $(BUILD)/libgemmtune.a $(BUILD)/libgemmtune.so.$(SOVERSION) $(BUILD)/libgemmtune_cublas.so $(if $(filter tuner/main.c,$(TUNE_SRC)),$(BUILD)/tune) emulator

$(SETUP): tools/setup
	@mkdir -p $(@D)
	$(Q)tools/setup $(if $(NO_INSTALL),--check)
	$(Q)touch $@

# Changes when a line of this file does that says how to compile; nothing else of it makes objects
# old, nor do flags of one call of make: what installs need not be called as what built was.
FLAGS := $(BUILD)/flags
$(FLAGS): Makefile
	@mkdir -p $(@D)
	@said=$$(sed -n '/^WARNINGS/,/^$$/p; /^SMALL/,/^$$/p; /GT_CFLAGS *[+:]*=/p' $<); \
		printf '%s\n' "$$said" | cmp -s - $@ || printf '%s\n' "$$said" > $@

$(BUILD)/%.o: %.c $(FLAGS) | $(SETUP)
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(GT_CFLAGS) $(CPPFLAGS) -c $< -o $@

$(BUILD)/db/store_open.o: $(BUILD)/db/schema_sql.h
$(BUILD)/db/%_sql.h: db/%.sql tools/embed
	@mkdir -p $(@D)
	$(Q)tools/embed $< gt_$*_sql >$@.new && mv $@.new $@
$(BUILD)/tuner/report/page.o: $(addprefix $(BUILD)/report/,charts_js_page.h page_js_page.h page_energy_js_page.h page_search_js_page.h page_css_page.h)
$(BUILD)/tuner/report/compare.o: $(BUILD)/report/compare_js_page.h
$(BUILD)/report/%_js_page.h: tuner/report/%.js tools/embed
	@mkdir -p $(@D)
	$(Q)tools/embed $< gt_$*_js >$@.new && mv $@.new $@
$(BUILD)/report/%_css_page.h: tuner/report/%.css tools/embed
	@mkdir -p $(@D)
	$(Q)tools/embed $< gt_$*_css >$@.new && mv $@.new $@

# Of the library, what only opens or parses something, what plans, and what a first look-up lists near winners and repairs candidates with (as fast as for
# speed: 1.72 and 1.77 ms, `make bench-host BENCH=lookups`) is compiled for size: a fifth smaller, and no repeated look-up and no run of a plan goes through it.
HOT   := $(addprefix src/,kernel/expr kernel/kernel_geometry kernel/kernel_point kernel/kernel_serves lookup/lookup lookup/plan_run lookup/ranking_ask)
SMALL := $(filter-out $(HOT:%=$(BUILD)/%),$(basename $(LIB_OBJ)))
$(SMALL:%=%.o): GT_CFLAGS += $(if $(filter -O2,$(CFLAGS)),-Os)

# What stays in the build tree may look into it (src/base/place.h); what leaves it may not.
$(BUILD)/src/base/place.o: GT_CFLAGS += -DGT_BUILD_TREE='"$(CURDIR)"'

# Two programs of one version are told apart by their commit: that of this repository, not of one around it; an archive
# of a commit (git archive) has it in tools/commit.
$(BUILD)/commit: FORCE
	@mkdir -p $(@D)
	@said=; [ -n "$$(git rev-parse --show-prefix 2>/dev/null)" ] || said=$$(git log -1 --format='%h %cs' 2>/dev/null); \
	[ -n "$$said" ] || said=$$(sed -n '/Format/!p' tools/commit 2>/dev/null); \
	echo "$$said" | cmp -s - $@ || echo "$$said" >$@
$(BUILD)/tuner/main.o: $(BUILD)/commit
$(BUILD)/tuner/main.o: GT_CFLAGS += -DGT_COMMIT="\"$$(cat $(BUILD)/commit)\""

LINK_LIB  = $(CC) -shared -Wl,-soname,$(@F) -Wl,--version-script=src/gemmtune.map -Wl,--as-needed \
            -Wl,--gc-sections $(LDFLAGS) $(RUNPATH) $(filter %.o,$^) -o $@ $(LDLIBS) && \
            ln -sf $(@F) $(@D)/libgemmtune.so
# Preloaded into programs that may bring an SQLite of another version, so ours is inside and hidden
# wherever there is an archive of it.
STATIC_SQLITE := $(filter /%,$(shell $(CC) -print-file-name=libsqlite3.a))
LINK_SERVE = $(CC) -shared -Wl,-soname,$(@F) -Wl,--version-script=src/serve/serve.map -Wl,--as-needed \
            -Wl,--gc-sections -Wl,--exclude-libs,ALL -Wl,-z,nodelete $(LDFLAGS) $(RUNPATH) \
            $(filter %.o,$^) $(filter %.a,$^) -o $@ $(STATIC_SQLITE) $(LDLIBS)
# What is made again where it was interrupted: tuner/console/again.c.
AGAIN     := open openat fopen opendir scandir flock fsync
LINK_TUNE = $(CC) $(LDFLAGS) $(AGAIN:%=-Wl,--wrap=%) $(RUNPATH) $(filter %.o,$^) $(filter %.a,$^) -o $@ $(LDLIBS)

$(BUILD)/libgemmtune.a: $(LIB_OBJ)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/libgemmtune.so.$(SOVERSION): $(LIB_OBJ) src/gemmtune.map
	$(Q)$(LINK_LIB)

# The hooks alone are visible.
$(SERVE_OBJ): GT_CFLAGS += -fvisibility=hidden
$(BUILD)/libgemmtune_cublas.so: $(SERVE_OBJ) $(BUILD)/libgemmtune.a src/serve/serve.map
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(LINK_SERVE)

$(BUILD)/tune: $(TUNE_OBJ) $(BUILD)/libgemmtune.a
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(LINK_TUNE)

# The same for what is installed and what is bundled.  Only a bundle has a RUNPATH: its libraries
# lie beside it, and a loader that looks beside an installed program may find anybody's.
OUTSIDE     := $(INSTALLED) $(BUILD)/bundle
OUTSIDE_LIB := $(filter-out $(BUILD)/src/base/place.o,$(LIB_OBJ))
$(INSTALLED)/datadir: DATADIR = $(PREFIX)/share/gemmtune
$(BUILD)/bundle/datadir: DATADIR = /usr/local/share/gemmtune
$(BUILD)/bundle/tune: RUNPATH = -Wl,-rpath,'$$ORIGIN/../lib'
$(BUILD)/bundle/libgemmtune.so.$(SOVERSION) $(BUILD)/bundle/libgemmtune_cublas.so: RUNPATH = -Wl,-rpath,'$$ORIGIN'

# Written when the folder is another one than the last time, so that what names it is made again.
$(OUTSIDE:%=%/datadir): FORCE
	@mkdir -p $(@D)
	@printf '%s' '$(DATADIR)' | cmp -s - $@ || printf '%s' '$(DATADIR)' > $@

$(OUTSIDE:%=%/place.o): %/place.o: src/base/place.c src/base/place.h src/base/trust.h %/datadir | $(SETUP)
	$(Q)$(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) $(CPPFLAGS) -DGT_DATADIR="\"$$(cat $(@D)/datadir)\"" -c $< -o $@

$(OUTSIDE:%=%/libgemmtune.a): %/libgemmtune.a: %/place.o $(OUTSIDE_LIB)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(OUTSIDE:%=%/libgemmtune.so.$(SOVERSION)): %/libgemmtune.so.$(SOVERSION): %/place.o $(OUTSIDE_LIB) src/gemmtune.map
	$(Q)$(LINK_LIB)

$(OUTSIDE:%=%/libgemmtune_cublas.so): %/libgemmtune_cublas.so: $(SERVE_OBJ) %/libgemmtune.a src/serve/serve.map
	$(Q)$(LINK_SERVE)

$(OUTSIDE:%=%/tune): %/tune: %/libgemmtune.a $(TUNE_OBJ)
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(LINK_TUNE)

BUNDLED := $(addprefix $(BUILD)/bundle/,tune libgemmtune.a libgemmtune.so.$(SOVERSION) libgemmtune_cublas.so)

.PHONY: FORCE
FORCE:

# Everything but tuner/main.c, for the unit tests to link.
$(BUILD)/libtuner.a: $(filter-out $(BUILD)/tuner/main.o,$(TUNE_OBJ)) \
		$(filter-out $(BUILD)/src/serve/hooks.o,$(SERVE_OBJ)) $(LIB_OBJ)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(GT_CFLAGS) -Itests/unit $(CPPFLAGS) $< $(BUILD)/libtuner.a -o $@ $(LDFLAGS) -lcmocka $(LDLIBS)

$(BUILD)/tests/gpu/%: tests/gpu/%.c tests/gpu/gpu_fixture.h $(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(GT_CFLAGS) $(CPPFLAGS) $< $(BUILD)/libtuner.a -o $@ $(LDFLAGS) -lcmocka $(LDLIBS)

# A CUDA driver, compiler, cuBLASLt and NVML for tests without a GPU (tests/faults/stub_*.c).
STUBS := $(addprefix $(BUILD)/stub/,libcuda.so.1 libnvrtc.so.13 libcublasLt.so.13 libnvidia-ml.so.1)
STUB_CFLAGS = $(filter-out -MMD -MP,$(GT_CFLAGS)) -O3 -shared
$(BUILD)/stub/libcuda.so.1: $(addprefix tests/faults/stub_,cuda.c memory.c graph.c launch.c gemm.c reference.c power.c) \
		$(BUILD)/stub/stub_proof.o
$(BUILD)/stub/libnvrtc.so.13: tests/faults/stub_nvrtc.c
$(BUILD)/stub/libcublasLt.so.13: tests/faults/stub_cublaslt.c
$(BUILD)/stub/libnvidia-ml.so.1: tests/faults/stub_nvml.c
$(STUBS): $(wildcard tests/faults/stub_*.h) src/cuda/cuda_api.h | $(SETUP)
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $@")
	$(Q)$(CC) $(STUB_CFLAGS) $(filter %.c %.o,$^) -o $@ $(LDFLAGS) -ldl -lm
$(BUILD)/stub/stub_proof.o: tests/faults/stub_proof.cc $(wildcard templates/proof/*) | $(SETUP)
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -Wall -Wextra -Wno-unknown-pragmas -fPIC -O2 -Itemplates -Itests/emu -c $< -o $@

# ThreadSanitizer asks dlsym for functions before it has begun.
ifeq ($(SAN),thread)
$(addprefix $(BUILD)/src/serve/,hooks.o names.o real.o): GT_CFLAGS := $(filter-out -fsanitize=%,$(GT_CFLAGS)) -fno-builtin
endif

# Stubs of cuBLAS for programs under the preloaded library, and the program of the tests: `calls` is
# linked to version 13, `calls-12` to version 12.
STUB_BLAS := $(BUILD)/stub/blas
SERVE_TEST := $(BUILD)/tests/serve/calls
EXTENSIONS := $(patsubst %,$(BUILD)/tests/serve/extension-%.so,12 13 renamed static)
STUBS_BLAS := $(foreach v,12 13,$(STUB_BLAS)/libcublas.so.$(v) $(STUB_BLAS)/libcublasLt.so.$(v))
define BLAS_VERSION
$(STUB_BLAS)/libcublasLt.so.$(1): tests/serve/stub_blas_lt.c $(BUILD)/stub/stub_proof.o
$(STUB_BLAS)/libcublas.so.$(1): tests/serve/stub_blas.c | $(STUB_BLAS)/libcublasLt.so.$(1)
$(STUB_BLAS)/libcublas.so.$(1): LDFLAGS += -L$(STUB_BLAS) -l:libcublasLt.so.$(1)
endef
$(foreach v,12 13,$(eval $(call BLAS_VERSION,$(v))))
$(STUBS_BLAS): tests/serve/stub_blas.h src/serve/blas.h $(wildcard tests/serve/*.map) | $(SETUP)
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $@")
	$(Q)sed 's/so\.13/so$(suffix $@)/' $(patsubst %.c,%.map,$(filter %.c,$^)) > $@.map
	$(Q)$(CC) $(STUB_CFLAGS) -DSTUB_MAJOR=$(patsubst .%,%,$(suffix $@)) -Itests/serve -Wl,-soname,$(@F) \
		$(filter %.c %.o,$^) -o $@ -Wl,--version-script=$@.map $(LDFLAGS) -lm
# A copy of cuBLAS with names of its own, as wheels have it, and one inside of an extension, whose
# functions end by calling it; the other ones' do not.
RENAMED := 1f3a
$(STUB_BLAS)/libcublas-$(RENAMED).so.13: tests/serve/stub_blas.c tests/serve/stub_blas_lt.c $(BUILD)/stub/stub_proof.o $(STUBS_BLAS)
	$(Q)for part in cublasLt cublas; do \
		$(CC) $(STUB_CFLAGS) -DSTUB_MAJOR=13 -Itests/serve -Wl,-soname,lib$$part-$(RENAMED).so.13 \
			tests/serve/stub_blas$$([ $$part = cublas ] || echo _lt).c $(filter %.o,$^) -o $(@D)/lib$$part-$(RENAMED).so.13 \
			-Wl,--version-script=$(@D)/lib$$part.so.13.map $(LDFLAGS) \
			$$([ $$part = cublasLt ] || echo -L$(@D) -l:libcublasLt-$(RENAMED).so.13) -lm || exit; done
$(BUILD)/tests/serve/extension-static.so: $(addprefix tests/serve/,extension.c stub_blas.c stub_blas_lt.c) $(BUILD)/stub/stub_proof.o
	@mkdir -p $(@D)
	$(Q)$(CC) $(STUB_CFLAGS) -DSTUB_MAJOR=13 -Itests/serve $^ -o $@ $(LDFLAGS) -lm
$(BUILD)/tests/serve/extension-renamed.so: $(STUB_BLAS)/libcublas-$(RENAMED).so.13
$(BUILD)/tests/serve/extension-%.so: tests/serve/extension.c tests/serve/extension.h $(STUBS_BLAS)
	@mkdir -p $(@D)
	$(Q)$(CC) $(STUB_CFLAGS) -fno-optimize-sibling-calls -Itests/serve $< -o $@ -L$(STUB_BLAS) \
		-l:libcublas$(if $(filter renamed,$*),-$(RENAMED).so.13,.so.$*) -Wl,-rpath-link,$(STUB_BLAS) $(LDFLAGS)
$(BUILD)/tests/serve/copies: tests/serve/copies.c $(BUILD)/stub/libcuda.so.1 $(EXTENSIONS)
	$(Q)$(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) $< -o $@ -L$(BUILD)/stub -l:libcuda.so.1 -Wl,-rpath-link,$(BUILD)/stub \
		$(LDFLAGS) -ldl
PRELOADS := $(patsubst %,$(BUILD)/tests/serve/%.so,fail_malloc wrapper auditor)
$(PRELOADS): $(BUILD)/tests/serve/%.so: tests/serve/%.c | $(SETUP)
	@mkdir -p $(@D)
	$(Q)$(CC) $(STUB_CFLAGS) $< -o $@ $(LDFLAGS) -ldl
$(BUILD)/tests/serve/wrapper-products.so: tests/serve/wrapper.c | $(SETUP)
	$(Q)$(CC) $(STUB_CFLAGS) -DPRODUCTS_ONLY $< -o $@ $(LDFLAGS) -ldl
$(BUILD)/tests/serve/early.so: tests/serve/early.c $(STUBS_BLAS) $(BUILD)/stub/libcuda.so.1
	$(Q)$(CC) $(STUB_CFLAGS) -DSTUB_MAJOR=13 -Itests/serve $< -o $@ -L$(STUB_BLAS) -L$(BUILD)/stub -l:libcublas.so.13 -l:libcuda.so.1 \
		-Wl,-rpath-link,$(STUB_BLAS) $(LDFLAGS)
$(SERVE_TEST) $(SERVE_TEST)-12: $(EXTENSIONS) $(BUILD)/tests/serve/copies $(PRELOADS) $(addprefix $(BUILD)/tests/serve/,wrapper-products.so early.so)
$(SERVE_TEST): MAJOR = 13
$(SERVE_TEST)-12: MAJOR = 12
$(SERVE_TEST): | $(SERVE_TEST)-12
$(SERVE_TEST) $(SERVE_TEST)-12: $(addprefix tests/serve/,calls.c calls_served.c calls_left.c calls_program.c calls_around.c calls_check.c calls_devices.c product.c) \
		tests/serve/calls.h tests/faults/stub_launched.h $(STUBS_BLAS) $(BUILD)/stub/libcuda.so.1 $(BUILD)/stub/libnvrtc.so.13 \
		$(BUILD)/libgemmtune_cublas.so
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $@")
	$(Q)$(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) -DSTUB_MAJOR=$(MAJOR) -Itests/serve $(filter %.c,$^) -o $@ \
		-L$(STUB_BLAS) -L$(BUILD)/stub -l:libcublas.so.$(MAJOR) -l:libcublasLt.so.$(MAJOR) -l:libcuda.so.1 \
		-Wl,-rpath-link,$(BUILD)/stub $(LDFLAGS) -lm -lpthread

SOAK := $(BUILD)/tests/faults/soak
$(SOAK): $(addprefix tests/faults/,soak.c soak_checks.c run.c results.c) \
		$(wildcard tests/faults/[rs]*.h) | $(SETUP)
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $@")
	$(Q)$(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) $(filter %.c,$^) -o $@ $(LDFLAGS) -lsqlite3

## soak: sweeps over planted faults, with kills: make soak SECONDS=480 [DEVICE=cuda]; without: a stub
.PHONY: soak
soak: all $(SOAK) $(STUBS)
	$(Q)$(SOAK) --seconds $(or $(SECONDS),480) $(if $(DEVICE),--device $(DEVICE),--stub \
		$(BUILD)/stub --shape 96x80x64) $(BUILD)/tune tests/faults/kernels

## storm: the same until so many kills were made: make storm KILLS=600
.PHONY: storm
storm: all $(SOAK) $(STUBS)
	$(Q)$(SOAK) --kills $(or $(KILLS),600) --stub $(BUILD)/stub --shape 96x80x64 $(BUILD)/tune \
		tests/faults/kernels

# Power cuts: cutlog.so logs what a sweep writes, powercut cuts after each of its writes.
POWERCUT := $(BUILD)/tests/faults/powercut
$(POWERCUT): $(addprefix tests/faults/,powercut.c cutdisk.c run.c cutdisk.h cutlog.h run.h) $(BUILD)/libtuner.a \
		$(BUILD)/tests/faults/cutlog.so $(BUILD)/tests/faults/interrupted.so
	$(if $(Q),@echo "  CC    $@")
	$(Q)$(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) $(CPPFLAGS) $(filter %.c,$^) $(BUILD)/libtuner.a \
		-o $@ $(LDFLAGS) $(LDLIBS)
$(BUILD)/tests/faults/cutlog.so: tests/faults/cutlog.h
$(BUILD)/tests/faults/cutlog.so $(BUILD)/tests/faults/interrupted.so: $(BUILD)/%.so: %.c | $(SETUP)
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $@")
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARNINGS) -fPIC -O2 -shared $< -o $@ -ldl

## powercut: the power cut at random writes of sweeps: make powercut CUTS=12000
.PHONY: powercut
powercut: all $(POWERCUT) $(STUBS)
	$(Q)$(POWERCUT) --cuts $(or $(CUTS),12000) --stub $(CURDIR)/$(BUILD)/stub \
		$(BUILD)/tune $(CURDIR)/$(BUILD)/tests/faults/cutlog.so

FLIPS_TEST := $(BUILD)/tests/faults/flips
$(FLIPS_TEST): tests/faults/flips.c $(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $@")
	$(Q)$(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) $(CPPFLAGS) $^ -o $@ $(LDFLAGS) $(LDLIBS)

## flips: flipped bits in tables, databases and cubins: make flips FLIPS=60000
.PHONY: flips
flips: all $(FLIPS_TEST)
	$(Q)BUILD=$(BUILD) tests/faults/flip_all $(or $(FLIPS),60000)

# Tests in which the N-th allocation fails (tests/unit/failmalloc.h).
FAILMALLOC_LDFLAGS := $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc strdup free)
NOMEM_TEST := $(addprefix $(BUILD)/tests/unit/,base/test_nomem db/test_store_nomem \
               search/test_search_nomem console/test_cmd_json lookup/test_ranking lookup/test_rankings \
               learn/test_learn_write lookup/test_deployed exchange/test_foreign)
$(NOMEM_TEST): LDFLAGS += $(FAILMALLOC_LDFLAGS) $(BUILD)/tests/unit/failmalloc.o
$(NOMEM_TEST): $(BUILD)/tests/unit/failmalloc.o

$(BUILD)/tests/fuzz/%: tests/fuzz/%.c tests/fuzz/driver.c tests/fuzz/fuzz_text.h $(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) $(CPPFLAGS) $< tests/fuzz/driver.c \
		$(BUILD)/libtuner.a -o $@ $(LDFLAGS) $(LDLIBS)

## tune: set up, build, tune: make tune ARCH=sm_86 SHAPE=4096x4096x4096 [ARGS="--budget 10m"]
.PHONY: tune
tune: all
	$(BUILD)/tune $(if $(ARCH),--arch $(ARCH)) $(SHAPE:%=--shape %) $(ARGS)

# The emulator: always with the sanitizers, and its functions visible to the kernels it opens.
# EMU_DRAW: what draws points and problems, and runs nothing.
EMU_DRAW := $(addprefix tests/emu/,sample.c served.c operands.c numbers.c)
EMU_SRC  := $(EMU_DRAW) $(addprefix tests/emu/,build.c fiber.c hang.c machine.c machine_calls.c \
             machine_async.c machine_early.c machine_proxies.c machine_wgmma.c tensor_maps.c reference.c shrink.c statics.c \
             launch.c execute.c)
EMU_SAN  := -fsanitize=address,undefined -fno-sanitize-recover=all
EMU_OBJ  := $(EMU_SRC:%.c=$(BUILD)/%.o)
$(EMU_OBJ): GT_CFLAGS += $(EMU_SAN) -Wno-psabi
LINK_EMU  = $(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) $(EMU_SAN) -Wno-psabi -rdynamic $(filter %.c,$^) $(EMU_OBJ) \
            $(BUILD)/libtuner.a -o $@ $(LDLIBS)
EMU_TEST := $(addprefix $(BUILD)/tests/emu/,emulate exactness proof_kernels proof_types proof_served conversions)
$(EMU_TEST): $(BUILD)/tests/emu/%: tests/emu/%.c tests/remembered.c tests/remembered.h $(EMU_OBJ) $(wildcard tests/emu/*.h) \
		$(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(LINK_EMU)

$(BUILD)/tests/unit/cuda/test_compile_everywhere: tests/unit/cuda/test_compile_everywhere.c $(EMU_DRAW) \
		tests/remembered.c tests/remembered.h $(wildcard tests/emu/*.h) $(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) $(CPPFLAGS) $(filter %.c %.a,$^) -o $@ \
		$(LDFLAGS) $(LDLIBS)

# What `tune try --on cpu` starts; it stands beside the program, or is installed in libexec.  A
# compiler without the sanitizers' libraries builds everything else.
EMULATOR := $(if $(SAN),,$(BUILD)/gemmtune-emulate)
.PHONY: emulator
emulator: $(EMULATOR)
$(BUILD)/gemmtune-emulate: tests/emu/gemmtune_emulate.c $(EMU_OBJ) $(wildcard tests/emu/*.h) $(BUILD)/libtuner.a
	$(if $(Q),@echo "  CC    $<")
	$(Q)if echo 'int main(void) { return 0; }' | $(CC) $(EMU_SAN) -x c - -o $@.probe; then $(LINK_EMU); \
		else echo "gemmtune-emulate is not built: $(CC) lacks AddressSanitizer"; fi; rm -f $@.probe

## bench-host: figures of the host side: enumeration, predictions, commits, look-ups, compiling
.PHONY: bench-host
bench-host: $(BUILD)/tools/bench-host
	$(Q)$< $(BENCH)

## predicted-arms: what the model expects of each kernel, for every third shipped winner; 6 minutes
.PHONY: predicted-arms
predicted-arms: $(BUILD)/tools/predicted-arms
	$(Q)$< db/shipped/h200.csv

## residues: errors of FP32 products made of INT8 residues, of FP16 pairs, and of multiply-adds; seconds, no GPU
.PHONY: residues
residues: $(BUILD)/tools/residues
	$(Q)$<

## bench-serve: nanoseconds that the preloaded library adds to a call of cuBLAS, on the stubs
.PHONY: bench-serve
bench-serve: $(BUILD)/tools/bench-serve $(BUILD)/libgemmtune_cublas.so
	$(Q)tools/bench-serve $(BUILD)
$(BUILD)/tools/bench-serve: tools/bench_serve.c $(STUBS) $(STUB_BLAS)/libcublas.so.13
	@mkdir -p $(@D)
	$(Q)$(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) $(CPPFLAGS) $< -o $@ -L$(STUB_BLAS) -L$(BUILD)/stub \
		-l:libcublas.so.13 -l:libcuda.so.1 -Wl,-rpath-link,$(STUB_BLAS) $(LDFLAGS)

## compile-cost: CPU seconds of NVRTC's phases, a candidate of each production kernel: RUNS=5
.PHONY: compile-cost
compile-cost: $(BUILD)/tools/compile-cost
	$(Q)$< $(or $(RUNS),5)

# The scorer of strategies (tools/score-search runs it).
SCORE_SRC := tools/score_search.c tools/score_space.c
$(BUILD)/score-search: $(SCORE_SRC) tools/score.h $(BUILD)/libtuner.a
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) $(CPPFLAGS) $(SCORE_SRC) $(BUILD)/libtuner.a \
		-o $@ $(LDFLAGS) $(LDLIBS)

# The inner loops of the regression are for vector units.
$(BUILD)/tuner/search/auto/gp.o: GT_CFLAGS += -O3

$(BUILD)/tools/compile-cost: tools/compile_cost.c $(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(GT_CFLAGS) $(CPPFLAGS) $< $(BUILD)/libtuner.a -o $@ $(LDFLAGS) $(LDLIBS)

$(BUILD)/tools/predicted-arms: tools/predicted_arms.c $(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(GT_CFLAGS) $(CPPFLAGS) $< $(BUILD)/libtuner.a -o $@ $(LDFLAGS) $(LDLIBS)

$(BUILD)/tools/page-trials: tools/page_trials.c $(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(GT_CFLAGS) $(CPPFLAGS) $< $(BUILD)/libtuner.a -o $@ $(LDFLAGS) $(LDLIBS)

$(BUILD)/tools/left-out-answers: tools/left_out_answers.c $(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(GT_CFLAGS) $(CPPFLAGS) $< $(BUILD)/libtuner.a -o $@ $(LDFLAGS) $(LDLIBS)

$(BUILD)/tools/race-replay: tools/race_replay.c tools/race_arms.c tools/race_arms.h $(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(GT_CFLAGS) $(CPPFLAGS) tools/race_replay.c tools/race_arms.c $(BUILD)/libtuner.a -o $@ $(LDFLAGS) $(LDLIBS)

$(BUILD)/tools/residues: tools/residues.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(GT_CFLAGS) $(CPPFLAGS) $< -o $@ $(LDFLAGS) -lm

$(BUILD)/tools/bench-host: tools/bench_host.c tools/bench_library.c tools/bench_host.h $(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(GT_CFLAGS) $(CPPFLAGS) $(filter %.c,$^) $(BUILD)/libtuner.a -o $@ $(LDFLAGS) $(LDLIBS)

## check-browser: the page of tune report in Chromium, which is installed if it may be
.PHONY: check-browser
check-browser: all $(STUBS)
	$(Q)tools/setup $(if $(NO_INSTALL),--check) --browser
	$(Q)BUILD=$(BUILD) tests/browser/page

## check-emu: run every kernel on the CPU, under the sanitizers, all there is of it; K=simt_naive only that one
.PHONY: check-emu
check-emu: $(EMU_TEST)
	$(Q)BUILD=$(BUILD) GEMMTUNE_DATA="$(CURDIR)" $< $(or $(K),--all)
	$(Q)$(if $(K),true,for test in $(filter-out $<,$^); do \
		BUILD=$(BUILD) GEMMTUNE_DATA="$(CURDIR)" $$test || exit 1; done)

## build-tests: build every test and every tool, and run none
.PHONY: build-tests
build-tests: all $(STUBS) $(SERVE_TEST) $(SOAK) $(POWERCUT) $(FLIPS_TEST) $(BUILD)/score-search $(TEST_BIN) $(GPU_TESTS:%.c=$(BUILD)/%) \
	$(BUILD)/tools/bench-host $(BUILD)/tools/bench-serve $(BUILD)/tools/compile-cost $(BUILD)/tools/predicted-arms \
	$(BUILD)/tools/residues $(BUILD)/tools/page-trials $(BUILD)/tools/left-out-answers $(BUILD)/tools/race-replay \
	$(BUILD)/tests/cluster/growth

## check: set up, build, run every test that needs no GPU; T=space runs only that one
.PHONY: check
check: all $(BUNDLED) $(STUBS) $(SERVE_TEST) $(SOAK) $(POWERCUT) $(FLIPS_TEST) $(BUILD)/score-search $(BUILD)/tools/page-trials $(BUILD)/tools/race-replay $(if $(NAMED)$(SCRIPT),$(NAMED),$(TEST_BIN) $(CHECKS))
	$(Q)BUILD=$(BUILD) T=$(T) tests/run $(firstword $(CHECKS)) $(WAITING) $(filter-out $(firstword $(CHECKS)),$(CHECKS)) \
		$(TEST_BIN) $(filter-out $(WAITING) $(if $(T),,$(RELEASED)),$(CLI_TESTS))

## check-release: documents, tables, seeds, and the ways in which the program is shipped and installed
.PHONY: check-release
check-release: all $(BUNDLED) $(STUBS) $(SERVE_TEST)
	$(Q)BUILD=$(BUILD) tests/run $(RELEASED)

## check-queue: 8 workers over 500 problems of a real PostgreSQL, which the test starts, with kills and cuts
.PHONY: check-queue
check-queue: all $(STUBS)
	$(Q)tools/setup --servers postgresql
	$(Q)tests/cluster/reads
	$(Q)tests/cluster/rights
	$(Q)tests/cluster/ahead
	$(Q)tests/cluster/queue $(if $(CSV),--csv $(CSV))

$(BUILD)/tests/cluster/growth: tests/cluster/growth.c $(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(GT_CFLAGS) $(CPPFLAGS) $< $(BUILD)/libtuner.a -o $@ $(LDFLAGS) $(LDLIBS)

## growth: the queue at 100,000 problems and 256 workers, on a PostgreSQL that the script starts
.PHONY: growth
growth: $(BUILD)/tests/cluster/growth
	$(Q)tests/cluster/growth

## check-slurm: the job scripts of tools/slurm under a Slurm of one node, which the test starts
.PHONY: check-slurm
check-slurm: all
	$(Q)tools/setup --servers slurm
	$(Q)tests/cluster/slurm

## check-gpu: run the tests that need a GPU; T=plan runs only that one
.PHONY: check-gpu
check-gpu: all $(GPU_TESTS:%.c=$(BUILD)/%)
	$(Q)BUILD=$(BUILD) T=$(T) JOBS=1 tests/run $(GPU_TESTS:%.c=$(BUILD)/%)

## fuzz: mutate the inputs of every parser: make fuzz FUZZ_SECONDS=600 SAN=address,undefined
.PHONY: fuzz
fuzz: $(FUZZ:%.c=$(BUILD)/%)
	$(Q)BUILD=$(BUILD) T=$(T) FUZZ_SECONDS=$(or $(FUZZ_SECONDS),60) TIMEOUT=86400 SHOW=1 tests/run $^

## check-style: headers, include directions, banned functions, lengths, formatting
.PHONY: check-style
check-style:
	$(Q)tools/check-style

## format: run clang-format over every C file
.PHONY: format
format:
	$(Q)git ls-files '*.c' '*.h' | xargs clang-format -i

## compile_commands.json: for editors and clang tools
compile_commands.json: Makefile
	$(Q)for f in $(LIB_SRC) $(TUNE_SRC) $(TESTS); do \
		printf '{"directory": "%s", "file": "%s", "command": "%s"},\n' "$(CURDIR)" "$$f" \
			"$(CC) $(GT_CFLAGS) -c $$f"; \
	done | sed '1s/^/[/; $$s/,$$/]/' > $@

## install: into $(DESTDIR)$(PREFIX), libraries into $(DESTDIR)$(LIBDIR); NVRTC=1 copies NVRTC, too; TUNE=0 leaves the name tune out
.PHONY: install
install: $(addprefix $(INSTALLED)/,tune libgemmtune.a libgemmtune.so.$(SOVERSION) libgemmtune_cublas.so) emulator
	$(Q)NVRTC="$(NVRTC)" TUNE="$(TUNE)" EMULATOR="$(EMULATOR)" tools/install "$(INSTALLED)" "$(DESTDIR)" "$(PREFIX)" "$(LIBDIR)" $(VERSION) $(SOVERSION)

## uninstall: remove what install put there
.PHONY: uninstall
uninstall:
	$(Q)tools/install --remove "$(DESTDIR)" "$(PREFIX)" "$(LIBDIR)" $(SOVERSION)

## bundle: a relocatable tarball for machines on which nothing can be installed; NVRTC=1 packs NVRTC, too
.PHONY: bundle
bundle: $(BUNDLED)
	$(Q)NVRTC="$(NVRTC)" tools/bundle $(BUILD) $(VERSION)

## wheel: the Python package with the library, templates and tables inside (build/gemmtune-*.whl); HOMEPAGE=URL: its address
.PHONY: wheel
wheel: $(BUILD)/bundle/libgemmtune.so.$(SOVERSION)
	$(Q)tools/wheel $(BUILD) $(VERSION) $(HOMEPAGE)

## cross: build program and libraries for another processor: make cross CROSS=aarch64-linux-gnu
.PHONY: cross crossed
cross: CROSS ?= aarch64-linux-gnu
cross: CROSS_CPU = $(firstword $(subst -, ,$(CROSS)))
cross: CROSS_LIB = .deps/$(CROSS)/usr/lib/$(CROSS)
cross:
	$(Q)tools/setup $(if $(NO_INSTALL),--check) --cross $(CROSS)
	@mkdir -p $(BUILD)/$(CROSS) && touch $(BUILD)/$(CROSS)/setup.stamp
	$(Q)$(MAKE) BUILD=$(BUILD)/$(CROSS) CC=$(CROSS)-gcc AR=$(CROSS)-ar SAN= crossed \
		STATIC_SQLITE=$(CROSS_LIB)/libsqlite3.a CPPFLAGS="-isystem .deps/$(CROSS)/usr/include" \
		LDFLAGS="-L$(CROSS_LIB) -Wl,-rpath-link,$(CROSS_LIB) -Wl,--no-undefined"
	$(Q)if qemu=$$(command -v qemu-$(CROSS_CPU)-static || command -v qemu-$(CROSS_CPU)); then \
		$$qemu -L /usr/$(CROSS) -E LD_LIBRARY_PATH=$(CROSS_LIB):.deps/$(CROSS)/lib/$(CROSS) \
			$(BUILD)/$(CROSS)/tune lookup 4096x4096x4096 --arch sm_90 | sed -n 's/^  tier */  an emulated look-up: /p'; fi
crossed: $(BUILD)/tune $(BUILD)/libgemmtune.so.$(SOVERSION) $(BUILD)/libgemmtune_cublas.so
	@for file in $^; do echo "  $$file: $$($(CC:gcc=readelf) -h $$file | sed -n 's/^ *Machine: *//p')"; done

## help: this list
.PHONY: help
help:
	@sed -n 's/^## \([a-z_.-]*\): */\1\t/p' $(MAKEFILE_LIST) | sort | \
		awk -F'\t' '{ printf "  %-22s %s\n", $$1, $$2 }'

## clean: remove everything built
.PHONY: clean
clean:
	$(Q)rm -rf $(BUILD) compile_commands.json

-include $(LIB_OBJ:.o=.d) $(SERVE_OBJ:.o=.d) $(TUNE_OBJ:.o=.d) $(EMU_OBJ:.o=.d) $(TEST_BIN:=.d)
