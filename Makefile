# gemmtune: every source is listed once, below.  `make help` says what can be made.
#
# A clean clone needs nothing by hand: everything built depends on a stamp that tools/setup leaves.
# SAN=address,undefined builds (and checks) in a folder of its own, with those sanitizers.
VERSION   := 0.1.0
SOVERSION := 0
CC        ?= cc
PREFIX    ?= /usr/local
SAN       ?=
comma     := ,
BUILD     ?= build$(if $(SAN),/$(subst $(comma),-,$(SAN)))
# One name for one folder: what an object depends on is noted under its target's name.
override BUILD := $(patsubst $(CURDIR)/%,%,$(BUILD))
ifeq ($(filter -j%,$(MAKEFLAGS)),)
MAKEFLAGS += -j$(shell nproc)
endif
ifneq ($(filter clean,$(MAKECMDGOALS)),)
.NOTPARALLEL:
endif

Q := $(if $(filter 1,$(V)),,@)
CFLAGS   ?= -O2 -g
WARNINGS := -Wall -Wextra -Wwrite-strings -Wvla -Wstrict-prototypes -Wmissing-prototypes \
            -Wno-format-truncation -Werror
GT_CFLAGS := -std=c11 -D_GNU_SOURCE $(WARNINGS) -fPIC -MMD -MP -Isrc -I$(BUILD) $(CFLAGS)
LDLIBS   := -lsqlite3 -lcjson -lz -lm -ldl -lpthread
ifneq ($(SAN),)
GT_CFLAGS += -fsanitize=$(SAN) -fno-omit-frame-pointer -fno-sanitize-recover=all
LDFLAGS   += -fsanitize=$(SAN)
endif

# The runtime library: vocabulary, stages, look-up.  One file a line.
LIB_SRC := \
	src/err.c \
	src/strbuf.c \
	src/near.c \
	src/expr.c \
	src/expr_parse.c \
	src/problem.c \
	src/problem_text.c \
	src/problemset.c \
	src/digest.c \
	src/stats.c \
	src/turns.c \
	src/trial.c \
	src/json.c \
	src/device.c \
	src/kernel.c \
	src/kernel_reader.c \
	src/kernel_json.c \
	src/kernel_serves.c \
	src/kernel_tokens.c \
	src/kernel_template.c \
	src/kernel_signature.c \
	src/kernel_point.c \
	src/kernel_geometry.c \
	src/kernel_maps.c \
	src/data_dir.c \
	src/render.c \
	src/predict.c \
	src/cuda_api.c \
	src/assemble.c \
	src/compile.c \
	src/cache.c \
	src/gpu.c \
	src/module.c \
	src/module_maps.c \
	src/proof.c \
	src/cases.c \
	src/resident.c \
	src/resident_fill.c \
	src/verify.c \
	src/verify_bound.c \
	src/sources.c \
	src/calibrate.c \
	src/calibration.c \
	src/bench.c \
	src/bench_final.c \
	src/bench_move.c \
	src/bench_time.c \
	src/baseline.c \
	src/throttle.c \
	src/plan.c \
	db/store.c \
	db/store_names.c \
	db/store_open.c \
	db/store_lock.c \
	db/store_migrate.c \
	db/store_calibration.c \
	db/store_compared.c \
	db/store_visits.c \
	db/store_rows.c \
	db/store_trials.c \
	db/store_merge.c \
	db/store_deploy.c \
	src/table.c \
	src/lookup.c \
	src/lookup_tiers.c \
	src/lookup_mend.c \

# The program.
TUNE_SRC := \
	tuner/main.c \
	tuner/export.c \
	tuner/export_json.c \
	tuner/export_c.c \
	tuner/export_shipped.c \
	tuner/export_space.c \
	tuner/export_kernel_tuner.c \
	tuner/export_t4.c \
	tuner/export_bench.c \
	tuner/export_search.c \
	tuner/sweep.c \
	tuner/sweep_budget.c \
	tuner/sweep_shares.c \
	tuner/sweep_lanes.c \
	tuner/sweep_seeds.c \
	tuner/sweep_priors.c \
	tuner/sweep_predict.c \
	tuner/sweep_record.c \
	tuner/sweep_spare.c \
	tuner/sweep_drift.c \
	tuner/sweep_visit.c \
	tuner/sweep_finals.c \
	tuner/sweep_contests.c \
	tuner/space.c \
	tuner/space_walk.c \
	tuner/space_order.c \
	tuner/narrow.c \
	tuner/recording.c \
	tuner/recording_read.c \
	tuner/recording_entry.c \
	tuner/recording_params.c \
	tuner/recording_t1.c \
	tuner/t1.c \
	tuner/python_parse.c \
	tuner/python_eval.c \
	tuner/strategy.c \
	tuner/strategy_options.c \
	tuner/strategy_auto.c \
	tuner/strategy_forest.c \
	tuner/strategy_local.c \
	tuner/strategy_iterated.c \
	tuner/strategy_annealing.c \
	tuner/strategy_dual.c \
	tuner/strategy_genetic.c \
	tuner/strategy_differential.c \
	tuner/strategy_swarm.c \
	tuner/strategy_random.c \
	tuner/strategy_exhaustive.c \
	tuner/surrogate.c \
	tuner/forest.c \
	tuner/grove.c \
	tuner/gauss.c \
	tuner/promise.c \
	tuner/experts.c \
	tuner/leaders.c \
	tuner/hints.c \
	tuner/climb.c \
	tuner/costs.c \
	tuner/design.c \
	tuner/walkers.c \
	tuner/agents.c \
	tuner/progress.c \
	tuner/evaluator_predict.c \
	tuner/evaluator_replay.c \
	tuner/options.c \
	tuner/cmd_bench.c \
	tuner/cmd_bench_report.c \
	tuner/cmd_csv.c \
	tuner/cmd_doctor.c \
	tuner/cmd_calibrate.c \
	tuner/cmd_predictor.c \
	tuner/quality.c \
	tuner/cmd_export.c \
	tuner/cmd_json.c \
	tuner/cmd_ladder.c \
	tuner/cmd_list.c \
	tuner/cmd_lookup.c \
	tuner/cmd_merge.c \
	tuner/cmd_adopt.c \
	tuner/cmd_adopt_report.c \
	tuner/cmd_adopt_take.c \
	tuner/cmd_recheck.c \
	tuner/cmd_recheck_report.c \
	tuner/cmd_report.c \
	tuner/cmd_report_json.c \
	tuner/cmd_session.c \
	tuner/cmd_show.c \
	tuner/cmd_show_json.c \
	tuner/cmd_tune.c \
	tuner/wire.c \
	tuner/process.c \
	tuner/lock.c \
	tuner/processors.c \
	tuner/compile_slot.c \
	tuner/compile_pool.c \
	tuner/compile_job.c \
	tuner/worker_compile.c \
	tuner/evaluator_cuda_finals.c \
	tuner/evaluator_cuda.c \
	tuner/evaluator_cuda_entry.c \
	tuner/evaluator.c \
	tuner/worker_gpu.c \
	tuner/gpu_client.c \

# Unit tests: one program a file, tests/unit/test_<module>.c, run by `make check`.
TESTS := \
	tests/unit/test_search_nomem.c \
	tests/unit/test_evaluator_predict.c \
	tests/unit/test_evaluator_replay.c \
	tests/unit/test_sweep.c \
	tests/unit/test_sweep_faults.c \
	tests/unit/test_sweep_finals.c \
	tests/unit/test_sweep_problems.c \
	tests/unit/test_predict.c \
	tests/unit/test_predict_h200.c \
	tests/unit/test_space.c \
	tests/unit/test_narrow.c \
	tests/unit/test_recording.c \
	tests/unit/test_t1.c \
	tests/unit/test_strategy.c \
	tests/unit/test_surrogate.c \
	tests/unit/test_costs.c \
	tests/unit/test_experts.c \
	tests/unit/test_progress.c \
	tests/unit/test_options.c \
	tests/unit/test_cmd_csv.c \
	tests/unit/test_wire.c \
	tests/unit/test_process.c \
	tests/unit/test_lock.c \
	tests/unit/test_processors.c \
	tests/unit/test_compile_pool.c \
	tests/unit/test_evaluator_cuda.c \
	tests/unit/test_evaluator_cuda_faults.c \
	tests/unit/test_store.c \
	tests/unit/test_store_open.c \
	tests/unit/test_store_merge.c \
	tests/unit/test_calibration.c \
	tests/unit/test_quality.c \
	tests/unit/test_store_faults.c \
	tests/unit/test_store_nomem.c \
	tests/unit/test_table.c \
	tests/unit/test_export.c \
	tests/unit/test_export_space.c \
	tests/unit/test_lookup.c \
	tests/unit/test_lookup_h200.c \
	tests/unit/test_expr.c \
	tests/unit/test_expr_random.c \
	tests/unit/test_problem.c \
	tests/unit/test_kernel.c \
	tests/unit/test_kernel_geometry.c \
	tests/unit/test_nomem.c \
	tests/unit/test_kernel_json.c \
	tests/unit/test_kernel_maps.c \
	tests/unit/test_render.c \
	tests/unit/test_signature.c \
	tests/unit/test_configs.c \
	tests/unit/test_problemset.c \
	tests/unit/test_device.c \
	tests/unit/test_near.c \
	tests/unit/test_trial.c \
	tests/unit/test_digest.c \
	tests/unit/test_stats.c \
	tests/unit/test_turns.c \
	tests/unit/test_compile_everywhere.c \
	tests/unit/test_compile.c \
	tests/unit/test_cache.c \
	tests/unit/test_gpu.c \
	tests/unit/test_verify.c \
	tests/unit/test_bench.c \
	tests/unit/test_bench_move.c \
	tests/unit/test_plan.c \

# Fuzz targets, run over their corpus and a few seconds of mutations (tests/fuzz/driver.c).
FUZZ := \
	tests/fuzz/fuzz_expr.c \
	tests/fuzz/fuzz_problem.c \
	tests/fuzz/fuzz_point.c \
	tests/fuzz/fuzz_kernel.c \
	tests/fuzz/fuzz_wire.c \
	tests/fuzz/fuzz_table.c \
	tests/fuzz/fuzz_recording.c \
	tests/fuzz/fuzz_t1.c \

# Other programs and scripts that `make check` runs (paths; built by rules of their own if they are
# not in the repository).  They answer in TAP, or only by their exit status (77: skipped).
CHECKS := \
	tests/faults/short_soak \
	tests/replay/score_search \
	$(FUZZ:%.c=$(BUILD)/%) \
	$(if $(SAN),,$(addprefix $(BUILD)/tests/emu/,emulate proof_kernels proof_types conversions)) \

# Tests that need a GPU, run by `make check-gpu`; without one they say so and are skipped.
GPU_TESTS := \
	tests/gpu/test_gpu_proof.c \
	tests/gpu/test_gpu_faults.c \
	tests/gpu/test_gpu_bench.c \
	tests/gpu/test_gpu_plan.c \
	tests/gpu/test_gpu_types.c \
	tests/gpu/test_gpu_maps.c \

LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/%.o)
TUNE_OBJ := $(TUNE_SRC:%.c=$(BUILD)/%.o)
TEST_BIN := $(TESTS:%.c=$(BUILD)/%)
CLI_TESTS := $(sort $(wildcard tests/cli/*.sh))
# With T=space only that program needs to be built (scripts and parts of names: all of them).
NAMED    := $(if $(T),$(filter %/test_$(T:test_%=%),$(TEST_BIN)))
SETUP    := $(BUILD)/setup.stamp

## all: build the program and the library
.PHONY: all
all: $(BUILD)/libgemmtune.a $(BUILD)/libgemmtune.so.$(SOVERSION) $(if $(filter tuner/main.c,$(TUNE_SRC)),$(BUILD)/tune)

$(SETUP): tools/setup
	@mkdir -p $(@D)
	$(Q)tools/setup
	$(Q)touch $@

$(BUILD)/%.o: %.c | $(SETUP)
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(GT_CFLAGS) $(CPPFLAGS) -c $< -o $@

$(BUILD)/db/store_migrate.o $(BUILD)/db/store_deploy.o: $(BUILD)/db/schema_sql.h
$(BUILD)/db/store_open.o: $(BUILD)/db/migrate_1_sql.h $(BUILD)/db/migrate_2_sql.h \
	$(BUILD)/db/migrate_3_sql.h $(BUILD)/db/migrate_4_sql.h
$(BUILD)/db/%_sql.h: db/%.sql tools/embed
	@mkdir -p $(@D)
	$(Q)tools/embed $< gt_$*_sql >$@.new && mv $@.new $@

$(BUILD)/src/data_dir.o: CPPFLAGS += -DGT_DATADIR='"$(PREFIX)/share/gemmtune"'

$(BUILD)/libgemmtune.a: $(LIB_OBJ)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/libgemmtune.so.$(SOVERSION): $(LIB_OBJ) src/gemmtune.map
	$(Q)$(CC) -shared -Wl,-soname,$(@F) -Wl,--version-script=src/gemmtune.map -Wl,--as-needed $(LDFLAGS) \
		$(LIB_OBJ) -o $@ $(LDLIBS)
	$(Q)ln -sf $(@F) $(BUILD)/libgemmtune.so

$(BUILD)/tune: $(TUNE_OBJ) $(BUILD)/libgemmtune.a
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(CC) $(LDFLAGS) -Wl,-rpath,'$$ORIGIN/../lib' $(TUNE_OBJ) $(BUILD)/libgemmtune.a -o $@ $(LDLIBS)

# Everything but tuner/main.c, for the unit tests to link.
$(BUILD)/libtuner.a: $(filter-out $(BUILD)/tuner/main.o,$(TUNE_OBJ)) $(LIB_OBJ)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(GT_CFLAGS) $(CPPFLAGS) $< $(BUILD)/libtuner.a -o $@ $(LDFLAGS) -lcmocka $(LDLIBS)

$(BUILD)/tests/gpu/%: tests/gpu/%.c tests/gpu/gpu_fixture.h $(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(GT_CFLAGS) $(CPPFLAGS) $< $(BUILD)/libtuner.a -o $@ $(LDFLAGS) -lcmocka $(LDLIBS)

# A CUDA driver, compiler, cuBLASLt and NVML for tests without a GPU (tests/faults/stub_*.c).
STUBS := $(addprefix $(BUILD)/stub/,libcuda.so.1 libnvrtc.so.13 libcublasLt.so.13 libnvidia-ml.so.1)
STUB_CFLAGS = $(filter-out -MMD -MP,$(GT_CFLAGS)) -O3 -shared
$(BUILD)/stub/libcuda.so.1: tests/faults/stub_cuda.c tests/faults/stub_launch.c \
		tests/faults/stub_gemm.c $(BUILD)/stub/stub_proof.o
$(BUILD)/stub/libnvrtc.so.13: tests/faults/stub_nvrtc.c
$(BUILD)/stub/libcublasLt.so.13: tests/faults/stub_cublaslt.c
$(BUILD)/stub/libnvidia-ml.so.1: tests/faults/stub_nvml.c
$(STUBS): $(wildcard tests/faults/stub_*.h) src/cuda_api.h | $(SETUP)
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $@")
	$(Q)$(CC) $(STUB_CFLAGS) $(filter %.c %.o,$^) -o $@ $(LDFLAGS) -ldl -lm
$(BUILD)/stub/stub_proof.o: tests/faults/stub_proof.cc $(wildcard templates/proof/*) | $(SETUP)
	@mkdir -p $(@D)
	$(Q)$(CXX) -std=c++17 -Wall -Wextra -Wno-unknown-pragmas -fPIC -O2 -Itemplates -c $< -o $@

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

# Tests in which the N-th allocation fails (tests/unit/failmalloc.h).
FAILMALLOC_LDFLAGS := $(patsubst %,-Wl$(comma)--wrap=%,malloc calloc realloc strdup free)
NOMEM_TEST := $(addprefix $(BUILD)/tests/unit/,test_nomem test_store_nomem test_search_nomem)
$(NOMEM_TEST): LDFLAGS += $(FAILMALLOC_LDFLAGS) $(BUILD)/tests/unit/failmalloc.o
$(NOMEM_TEST): $(BUILD)/tests/unit/failmalloc.o

$(BUILD)/tests/fuzz/%: tests/fuzz/%.c tests/fuzz/driver.c $(BUILD)/libtuner.a
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
EMU_SRC  := $(EMU_DRAW) $(addprefix tests/emu/,build.c fiber.c machine.c machine_calls.c \
             machine_async.c machine_wgmma.c tensor_maps.c execute.c)
EMU_TEST := $(addprefix $(BUILD)/tests/emu/,emulate proof_kernels proof_types conversions)
$(EMU_TEST): $(BUILD)/tests/emu/%: tests/emu/%.c $(EMU_SRC) $(wildcard tests/emu/*.h) \
		$(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) -fsanitize=address,undefined \
		-fno-sanitize-recover=all -Wno-psabi -rdynamic $< $(EMU_SRC) $(BUILD)/libtuner.a -o $@ $(LDLIBS)

$(BUILD)/tests/unit/test_compile_everywhere: tests/unit/test_compile_everywhere.c $(EMU_DRAW) \
		$(wildcard tests/emu/*.h) $(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(if $(Q),@echo "  CC    $<")
	$(Q)$(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) $(CPPFLAGS) $(filter %.c %.a,$^) -o $@ \
		$(LDFLAGS) $(LDLIBS)

## bench-host: figures of the host side: enumeration, predictions, commits, look-ups, compiling
.PHONY: bench-host
bench-host: $(BUILD)/tools/bench-host
	$(Q)$<

# The scorer of strategies (tools/score-search runs it).
SCORE_SRC := tools/score_search.c tools/score_space.c tools/score_svg.c
$(BUILD)/score-search: $(SCORE_SRC) tools/score.h $(BUILD)/libtuner.a
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) $(CPPFLAGS) $(SCORE_SRC) $(BUILD)/libtuner.a \
		-o $@ $(LDFLAGS) $(LDLIBS)

# The inner loops of the regression are for vector units.
$(BUILD)/tuner/surrogate.o: GT_CFLAGS += -O3

$(BUILD)/tools/bench-host: tools/bench_host.c $(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(GT_CFLAGS) $(CPPFLAGS) $< $(BUILD)/libtuner.a -o $@ $(LDFLAGS) $(LDLIBS)

## check-emu: run every kernel on the CPU, under the sanitizers, all there is of it; K=simt_naive only that one
.PHONY: check-emu
check-emu: $(EMU_TEST)
	$(Q)BUILD=$(BUILD) GEMMTUNE_DATA=$(CURDIR) $< $(or $(K),--all)
	$(Q)$(if $(K),true,for test in $(filter-out $<,$^); do \
		BUILD=$(BUILD) GEMMTUNE_DATA=$(CURDIR) $$test || exit 1; done)

## check: set up, build, run every test that needs no GPU; T=space runs only that one
.PHONY: check
check: all $(STUBS) $(SOAK) $(BUILD)/score-search $(or $(NAMED),$(TEST_BIN) $(CHECKS))
	$(Q)BUILD=$(BUILD) T=$(T) tests/run $(CHECKS) $(TEST_BIN) $(CLI_TESTS)

## check-gpu: run the tests that need a GPU; T=plan runs only that one
.PHONY: check-gpu
check-gpu: all $(GPU_TESTS:%.c=$(BUILD)/%)
	$(Q)BUILD=$(BUILD) T=$(T) JOBS=1 tests/run $(GPU_TESTS:%.c=$(BUILD)/%)

## fuzz: mutate the inputs of every parser: make fuzz FUZZ_SECONDS=600 SAN=address,undefined
.PHONY: fuzz
fuzz: $(FUZZ:%.c=$(BUILD)/%)
	$(Q)BUILD=$(BUILD) T=$(T) FUZZ_SECONDS=$(or $(FUZZ_SECONDS),60) TIMEOUT=86400 tests/run $^

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

## install: into $(DESTDIR)$(PREFIX)
.PHONY: install
install: all
	$(Q)tools/install "$(BUILD)" "$(DESTDIR)" "$(PREFIX)" $(VERSION) $(SOVERSION)

## uninstall: remove what install put there
.PHONY: uninstall
uninstall:
	$(Q)tools/install --remove "$(DESTDIR)" "$(PREFIX)" $(SOVERSION)

## bundle: a relocatable tarball for GPU nodes without a package manager
.PHONY: bundle
bundle: all
	$(Q)tools/bundle $(BUILD) $(VERSION)

## help: this list
.PHONY: help
help:
	@sed -n 's/^## \([a-z_.-]*\): */\1\t/p' $(MAKEFILE_LIST) | sort | \
		awk -F'\t' '{ printf "  %-22s %s\n", $$1, $$2 }'

## clean: remove everything built
.PHONY: clean
clean:
	$(Q)rm -rf $(BUILD) compile_commands.json

-include $(LIB_OBJ:.o=.d) $(TUNE_OBJ:.o=.d) $(TEST_BIN:=.d)
