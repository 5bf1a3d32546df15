# gemmtune: a source belongs to what its folder is, see below.  `make help` says what can be made.
#
# A clean clone needs nothing by hand: everything built depends on a stamp that tools/setup leaves.
# SAN=address,undefined builds (and checks) in a folder of its own, with those sanitizers.
VERSION   := 0.2.0
SOVERSION := 1
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

# A file belongs to what its folder is: the runtime library; the hooks that are preloaded into programs, with the library
# inside; the program.  The linker leaves out what nobody calls, such as the writing side of db/ in the library.
LIB_SRC   := $(sort $(wildcard $(addsuffix /*.c,$(addprefix src/,base problem kernel cuda lookup) db)))
SERVE_SRC := $(sort $(wildcard src/serve/*.c))
TUNE_SRC  := $(sort $(wildcard tuner/*.c tuner/*/*.c tuner/*/*/*.c)) src/serve/policy.c

# Unit tests: one program a file, tests/unit/<room>/test_<module>.c, run by `make check`.  Sanitizers find nothing in what
# NVRTC makes.
OF_NVRTC := $(addprefix tests/unit/cuda/,test_shared_loads.c test_compile_everywhere.c)
TESTS    := $(filter-out $(if $(SAN),$(OF_NVRTC)),$(sort $(wildcard tests/unit/*/test_*.c)))

# Fuzz targets, run over their corpus and a few seconds of mutations (tests/fuzz/driver.c).
FUZZ := $(sort $(wildcard tests/fuzz/fuzz_*.c))

# Seconds of what tools/trust runs for minutes, the fuzz targets under the sanitizers: .ci/run leaves them out here.
STORMS := $(addprefix tests/faults/,short_soak short_powercut flip_all)
FUZZED := $(FUZZ:%.c=$(BUILD)/%)

# Other programs and scripts that `make check` runs (paths; built by rules of their own if they are
# not in the repository).  They answer in TAP, or only by their exit status (77: skipped).
CHECKS := \
	$(if $(SAN),,$(BUILD)/tests/emu/emulate) \
	$(STORMS) \
	tests/replay/score_search \
	tests/replay/recordings \
	tests/serve/preloaded \
	$(FUZZED) \
	$(if $(SAN),,$(addprefix $(BUILD)/tests/emu/,exactness proof_kernels proof_types proof_served conversions)) \

# Names of the tests that take longest, or wait longest: they are started first, so that the short ones end together.
FIRST := emulate devices compile_everywhere exactness preloaded interrupt predictor measure recheck lookup try short_soak \
	measured compile ladder names own-kernel sick scale-faults serve setup

# What is shipped, and not what the code does: run by `make check-release`, or by name.
RELEASED := $(addprefix tests/cli/,documents.sh worked-example.sh measure-steps.sh tables.sh seeds.sh programs.sh bundle.sh install.sh \
	wheel.sh cmake.sh)

# What takes seconds and is seldom touched, of commands that other tests run, too: by `make check-release`, by name, and under
# sanitizers.
RARE := $(addprefix tests/cli/,joules.sh device-parts.sh own-headers.sh profiles.sh screens.sh hostile-names.sh slurm-disks.sh \
	closed-streams.sh machine.sh first-words.sh) tests/faults/short_soak

# What reads documents and tables: under sanitizers only by name.
TEXTS := $(addprefix tests/cli/,expected-files.sh headlines.sh readme.sh sources.sh style.sh)

# Tests with a short form in `make check`: with WHOLE=1 they take more rounds, more steps or all of their cases (`gt_whole` of
# tests/unit/whole.h, `whole` of tests/cli/compare), and check-release runs them so.
LONGER := tests/serve/preloaded $(shell grep -lE 'gt_(whole|failmalloc_every)' tests/unit/*/*.c | sed 's:^:$(BUILD)/:; s:[.]c$$::'; grep -lE '^ *whole ' tests/cli/*.sh)

# Of these `make check` runs a few points of each kernel, and check-release all points.
POINTS := $(if $(SAN),,$(BUILD)/tests/emu/emulate $(BUILD)/tests/emu/exactness $(BUILD)/tests/unit/cuda/test_compile_everywhere)

# Tests that need a GPU, run by `make check-gpu`; without one they say so and are skipped.
GPU_TESTS := $(sort $(wildcard tests/gpu/test_*.c))

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

# The line that says what is made, in the folder that is there then; and a program of one call of the compiler.
define SAY
@mkdir -p $(@D)
$(if $(Q),@echo "  CC    $(if $(filter %.c,$<),$<,$@)")
endef
MAKES   = $(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) $(CPPFLAGS)
PROGRAM = $(MAKES) $(filter %.c,$^) $(filter %.a,$^) -o $@ $(LDFLAGS) $(LDLIBS)

# Every target that `make help` lists is a name and no file, and so are these.
.PHONY: $(shell sed -n 's/^## \([a-z_-]*\): .*/\1/p' Makefile) FORCE emulator crossed

## all: build the program and the library
all: $(BUILD)/libgemmtune.a $(BUILD)/libgemmtune.so.$(SOVERSION) $(BUILD)/libgemmtune_cublas.so $(BUILD)/tune emulator

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
	$(SAY)
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

$(BUILD)/tuner/exchange/recording.o: $(BUILD)/exchange/recordings_py.h
$(BUILD)/exchange/%_py.h: tuner/exchange/%.py tools/embed
	@mkdir -p $(@D)
	$(Q)tools/embed $< gt_$*_py >$@.new && mv $@.new $@

# Of the library, what only opens or parses something, what plans, and what a first look-up lists near winners and repairs candidates with (as fast as for
# speed: 1.72 and 1.77 ms, `make bench-host BENCH=lookups`) is compiled for size: a fifth smaller, and no repeated look-up and no run of a plan goes through it.
HOT   := $(addprefix src/,cuda/module kernel/expr kernel/kernel_geometry kernel/kernel_serves lookup/lookup lookup/lookup_key lookup/plan_run lookup/ranking_ask)
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
	$(Q)$(MAKES) -DGT_DATADIR="\"$$(cat $(@D)/datadir)\"" -c $< -o $@

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

FORCE:

# Everything but tuner/main.c, for the unit tests to link.
$(BUILD)/libtuner.a: $(filter-out $(BUILD)/tuner/main.o,$(TUNE_OBJ)) \
		$(filter-out $(BUILD)/src/serve/hooks.o,$(SERVE_OBJ)) $(LIB_OBJ)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/libtuner.a
	$(SAY)
	$(Q)$(CC) $(GT_CFLAGS) -Itests/unit $(CPPFLAGS) $< $(BUILD)/libtuner.a -o $@ $(LDFLAGS) -lcmocka $(LDLIBS)

$(BUILD)/tests/gpu/%: tests/gpu/%.c tests/gpu/gpu_fixture.h $(BUILD)/libtuner.a
	$(SAY)
	$(Q)$(CC) $(GT_CFLAGS) $(CPPFLAGS) $< $(BUILD)/libtuner.a -o $@ $(LDFLAGS) -lcmocka $(LDLIBS)

include tests/stubs.mk

SOAK := $(BUILD)/tests/faults/soak
$(SOAK): $(addprefix tests/faults/,soak.c soak_checks.c run.c results.c) \
		$(wildcard tests/faults/[rs]*.h) | $(SETUP)
	$(SAY)
	$(Q)$(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) $(filter %.c,$^) -o $@ $(LDFLAGS) -lsqlite3

## soak: sweeps over planted faults, with kills: make soak SECONDS=480 [DEVICE=cuda]; without: a stub
soak: all $(SOAK) $(STUBS)
	$(Q)$(SOAK) --seconds $(or $(SECONDS),480) $(if $(DEVICE),--device $(DEVICE),--stub \
		$(BUILD)/stub --shape 96x80x64) $(BUILD)/tune tests/faults/kernels

## storm: the same until so many kills were made: make storm KILLS=600
storm: all $(SOAK) $(STUBS)
	$(Q)$(SOAK) --kills $(or $(KILLS),600) --stub $(BUILD)/stub --shape 96x80x64 $(BUILD)/tune \
		tests/faults/kernels

# Power cuts: cutlog.so logs what a sweep writes, powercut cuts after each of its writes.
POWERCUT := $(BUILD)/tests/faults/powercut
$(POWERCUT): $(addprefix tests/faults/,powercut.c cutdisk.c run.c cutdisk.h cutlog.h run.h) $(BUILD)/libtuner.a \
		$(BUILD)/tests/faults/cutlog.so $(BUILD)/tests/faults/interrupted.so
	$(SAY)
	$(Q)$(PROGRAM)
$(BUILD)/tests/faults/cutlog.so: tests/faults/cutlog.h
$(BUILD)/tests/faults/cutlog.so $(BUILD)/tests/faults/interrupted.so: $(BUILD)/%.so: %.c | $(SETUP)
	$(SAY)
	$(Q)$(CC) -std=c11 -D_GNU_SOURCE $(WARNINGS) -fPIC -O2 -shared $< -o $@ -ldl

## powercut: the power cut at random writes of sweeps: make powercut CUTS=12000
powercut: all $(POWERCUT) $(STUBS)
	$(Q)$(POWERCUT) --cuts $(or $(CUTS),12000) --stub $(CURDIR)/$(BUILD)/stub \
		$(BUILD)/tune $(CURDIR)/$(BUILD)/tests/faults/cutlog.so

FLIPS_TEST := $(BUILD)/tests/faults/flips
$(FLIPS_TEST): tests/faults/flips.c $(BUILD)/libtuner.a
	$(SAY)
	$(Q)$(PROGRAM)

## flips: flipped bits in tables, databases and cubins: make flips FLIPS=60000
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
	$(SAY)
	$(Q)$(MAKES) $< tests/fuzz/driver.c \
		$(BUILD)/libtuner.a -o $@ $(LDFLAGS) $(LDLIBS)

## tune: set up, build, tune: make tune ARCH=sm_86 SHAPE=4096x4096x4096 [ARGS="--budget 10m"]
tune: all
	$(BUILD)/tune $(if $(ARCH),--arch "$(ARCH)") $(SHAPE:%=--shape %) $(ARGS)

# The emulator: always with the sanitizers, and its functions visible to the kernels it opens.
# EMU_DRAW: what draws points and problems, and runs nothing.
EMU_DRAW := $(addprefix tests/emu/,served.c operands.c numbers.c)
EMU_SRC  := $(EMU_DRAW) $(addprefix tests/emu/,build.c fiber.c hang.c machine.c machine_calls.c \
             machine_async.c machine_early.c machine_proxies.c machine_wgmma.c tensor_maps.c reference.c shrink.c statics.c \
             launch.c execute.c)
EMU_SAN  := -fsanitize=address,undefined -fno-sanitize-recover=all
EMU_OBJ  := $(EMU_SRC:%.c=$(BUILD)/%.o)
$(EMU_OBJ): GT_CFLAGS += $(EMU_SAN) -Wno-psabi
LINK_EMU  = $(CC) $(filter-out -MMD -MP,$(GT_CFLAGS)) $(EMU_SAN) -Wno-psabi -rdynamic $(filter %.c,$^) $(filter %/sample.o,$^) $(EMU_OBJ) \
            $(BUILD)/libtuner.a -o $@ $(LDLIBS)
# What the verdicts of the emulator's tests and of NVRTC's depend on (tests/remembered.h), preprocessed: no comment counts, no
# line number, and no other file.
EMU_TEXT := $(EMU_SRC) tests/emu/emulate.c tests/emu/exactness.c $(filter src/problem/%,$(LIB_SRC)) \
            $(addprefix src/base/,err.c strbuf.c digest.c)
NVRTC_TEXT := src/cuda/compile.c tests/unit/cuda/test_compile_everywhere.c tests/unit/cuda/test_shared_loads.c
EMU_HEADERS := $(wildcard tests/emu/*.h)
$(BUILD)/tests/emu.text: $(EMU_TEXT) $(EMU_HEADERS) $(LIB_OBJ)
$(BUILD)/tests/nvrtc.text: $(NVRTC_TEXT) $(LIB_OBJ)
$(BUILD)/tests/drawn.text: $(EMU_DRAW) tests/emu/sample.c $(wildcard tuner/search/space*.[ch]) $(filter src/kernel/% src/problem/%,$(LIB_SRC)) \
		src/base/stats.c $(LIB_OBJ)
$(BUILD)/tests/%.text:
	@mkdir -p $(@D)
	$(Q)$(MAKES) -Itests/unit -E -P $(filter-out %.h %.o,$^) > $@
	$(Q)cat $(filter tests/emu/mma_emulate.h tests/emu/emulate%.h,$^) /dev/null >> $@
EMU_TEST := $(addprefix $(BUILD)/tests/emu/,emulate exactness proof_kernels proof_types proof_served conversions)
$(EMU_TEST): $(BUILD)/tests/emu/%: tests/emu/%.c tests/remembered.c tests/remembered.h $(EMU_OBJ) $(EMU_HEADERS) \
		$(BUILD)/libtuner.a | $(BUILD)/tests/emu.text
	$(SAY)
	$(Q)$(LINK_EMU)

# Drawing points runs nothing of a kernel, and would take three times as long under the sanitizers.
$(BUILD)/tests/emu/emulate: $(BUILD)/tests/emu/sample.o | $(BUILD)/tests/drawn.text
$(addprefix $(BUILD)/tests/unit/cuda/,test_compile_everywhere test_chosen): $(BUILD)/%: %.c $(EMU_DRAW) tests/emu/sample.c \
		tests/remembered.c tests/remembered.h $(EMU_HEADERS) $(BUILD)/libtuner.a \
		| $(addprefix $(BUILD)/tests/,nvrtc.text drawn.text)
	$(SAY)
	$(Q)$(PROGRAM) -lcmocka

$(BUILD)/tests/unit/base/test_remembered: tests/unit/base/test_remembered.c tests/remembered.c tests/remembered.h \
		$(BUILD)/libtuner.a
	$(SAY)
	$(Q)$(PROGRAM) -lcmocka

# What `tune try --on cpu` starts; it stands beside the program, or is installed in libexec.  A
# compiler without the sanitizers' libraries builds everything else.
EMULATOR := $(if $(SAN),,$(BUILD)/gemmtune-emulate)
emulator: $(EMULATOR)
$(BUILD)/gemmtune-emulate: tests/emu/gemmtune_emulate.c $(EMU_OBJ) $(wildcard tests/emu/*.h) $(BUILD)/libtuner.a
	$(SAY)
	$(Q)if echo 'int main(void) { return 0; }' | $(CC) $(EMU_SAN) -x c - -o $@.probe; then $(LINK_EMU); \
		else echo "gemmtune-emulate is not built: $(CC) lacks AddressSanitizer"; fi; rm -f $@.probe

## bench-host: figures of the host side: enumeration, predictions, commits, look-ups, compiling
bench-host: $(BUILD)/tools/bench-host
	$(Q)$< $(BENCH)

## predicted-arms: what the model expects of each kernel, for every third shipped winner; 6 minutes
predicted-arms: $(BUILD)/tools/predicted-arms
	$(Q)$< db/shipped/h200.csv

## residues: errors of FP32 products made of INT8 residues, of FP16 pairs, and of multiply-adds; seconds, no GPU
residues: $(BUILD)/tools/residues
	$(Q)$<

## bench-serve: nanoseconds that the preloaded library adds to a call of cuBLAS, on the stubs
bench-serve: $(BUILD)/tools/bench-serve $(BUILD)/libgemmtune_cublas.so
	$(Q)tools/bench-serve $(BUILD)
$(BUILD)/tools/bench-serve: tools/bench_serve.c $(STUBS) $(STUB_BLAS)/libcublas.so.13
	@mkdir -p $(@D)
	$(Q)$(MAKES) $< -o $@ -L$(STUB_BLAS) -L$(BUILD)/stub \
		-l:libcublas.so.13 -l:libcuda.so.1 -Wl,-rpath-link,$(STUB_BLAS) $(LDFLAGS)

## compile-cost: CPU seconds of NVRTC's phases, a candidate of each production kernel: RUNS=5
compile-cost: $(BUILD)/tools/compile-cost
	$(Q)$< $(or $(RUNS),5)

# The scorer of strategies (tools/score-search runs it).
SCORE_SRC := tools/score_search.c tools/score_space.c
$(BUILD)/score-search: $(SCORE_SRC) tools/score.h $(BUILD)/libtuner.a
	$(if $(Q),@echo "  LINK  $@")
	$(Q)$(PROGRAM)

# The inner loops of the regression are for vector units.
$(BUILD)/tuner/search/auto/gp.o: GT_CFLAGS += -O3

# The other tools: tools/compile_cost.c is compile-cost, and so on.
TOOLS := $(addprefix $(BUILD)/tools/,bench-host compile-cost left-out-answers page-trials predicted-arms race-replay residues)
$(BUILD)/tools/race-replay: tools/race_arms.c tools/race_arms.h
$(BUILD)/tools/bench-host: tools/bench_library.c tools/bench_host.h
.SECONDEXPANSION:
$(TOOLS): $(BUILD)/tools/%: tools/$$(subst -,_,$$*).c $(BUILD)/libtuner.a
	$(SAY)
	$(Q)$(PROGRAM)

## check-browser: the page of tune report in Chromium, which is installed if it may be
check-browser: all $(STUBS)
	$(Q)tools/setup $(if $(NO_INSTALL),--check) --browser
	$(Q)BUILD=$(BUILD) tests/browser/page

## check-emu: run every kernel on the CPU, under the sanitizers, all there is of it; K=simt_naive only that one
check-emu: $(EMU_TEST)
	$(Q)BUILD=$(BUILD) GEMMTUNE_DATA="$(CURDIR)" $< $(or $(K),--all)
	$(Q)$(if $(K),true,for test in $(filter-out $<,$^); do \
		BUILD=$(BUILD) GEMMTUNE_DATA="$(CURDIR)" $$test || exit 1; done)

## build-tests: build every test and every tool, and run none
build-tests: all $(STUBS) $(SERVE_TEST) $(SOAK) $(POWERCUT) $(FLIPS_TEST) $(BUILD)/score-search $(TEST_BIN) $(GPU_TESTS:%.c=$(BUILD)/%) \
	$(TOOLS) $(BUILD)/tools/bench-serve $(BUILD)/tests/cluster/growth

CHECKED = $(TEST_BIN) $(filter-out $(if $(T),,$(RELEASED) $(if $(SAN),$(TEXTS),$(RARE))),$(CHECKS) $(CLI_TESTS))
EARLY   = $(foreach name,$(FIRST),$(filter %/$(name) %/test_$(name) %/$(name).sh,$(CHECKED)))

## check: set up, build, run every test that needs no GPU; T=space runs only that one
check: all $(BUNDLED) $(STUBS) $(SERVE_TEST) $(SOAK) $(POWERCUT) $(FLIPS_TEST) $(BUILD)/score-search $(BUILD)/tools/page-trials $(BUILD)/tools/race-replay $(if $(NAMED)$(SCRIPT),$(NAMED),$(TEST_BIN) $(CHECKS))
	$(Q)BUILD=$(BUILD) T=$(T) tests/run $(EARLY) $(filter-out $(EARLY),$(CHECKED))

## check-release: documents, tables, seeds, all points of the kernels, long and rare tests, the ways in which the program is shipped and installed
check-release: all $(TOOLS) $(BUNDLED) $(STUBS) $(SERVE_TEST) $(SOAK) $(if $(T),$(filter %/$(T) %/test_$(T),$(POINTS) $(LONGER)),$(POINTS) $(filter-out %.sh,$(LONGER)))
	$(Q)BUILD=$(BUILD) T=$(T) WHOLE=1 tests/run $(POINTS) $(filter-out $(POINTS),$(LONGER)) $(filter-out $(LONGER),$(RARE) $(RELEASED))

## check-queue: 8 workers over 500 problems of a real PostgreSQL, which the test starts, with kills and cuts
check-queue: all $(STUBS)
	$(Q)tools/setup --servers postgresql
	$(Q)tests/cluster/reads
	$(Q)tests/cluster/rights
	$(Q)tests/cluster/ahead
	$(Q)tests/cluster/queue $(if $(CSV),--csv $(CSV))

$(BUILD)/tests/cluster/growth: tests/cluster/growth.c $(BUILD)/libtuner.a
	$(SAY)
	$(Q)$(PROGRAM)

## growth: the queue at 100,000 problems and 256 workers, on a PostgreSQL that the script starts
growth: $(BUILD)/tests/cluster/growth
	$(Q)tests/cluster/growth

## check-slurm: the job scripts of tools/slurm under a Slurm of one node, which the test starts
check-slurm: all
	$(Q)tools/setup --servers slurm
	$(Q)tests/cluster/slurm

## check-gpu: run the tests that need a GPU; T=plan runs only that one
check-gpu: all $(GPU_TESTS:%.c=$(BUILD)/%)
	$(Q)BUILD=$(BUILD) T=$(T) JOBS=1 tests/run $(GPU_TESTS:%.c=$(BUILD)/%)

## fuzz: mutate the inputs of every parser: make fuzz FUZZ_SECONDS=600 SAN=address,undefined
fuzz: $(FUZZ:%.c=$(BUILD)/%)
	$(Q)BUILD=$(BUILD) T=$(T) FUZZ_SECONDS=$(or $(FUZZ_SECONDS),60) TIMEOUT=86400 SHOW=1 tests/run $^

## check-style: headers, include directions, banned functions, lengths, formatting
check-style:
	$(Q)tools/check-style

## format: run clang-format over every C file
format:
	$(Q)git ls-files '*.c' '*.h' | xargs clang-format -i

## compile_commands.json: for editors and clang tools
compile_commands.json: Makefile
	$(Q)for f in $(LIB_SRC) $(TUNE_SRC) $(TESTS); do \
		printf '{"directory": "%s", "file": "%s", "command": "%s"},\n' "$(CURDIR)" "$$f" \
			"$(CC) $(GT_CFLAGS) -c $$f"; \
	done | sed '1s/^/[/; $$s/,$$/]/' > $@

## install: into $(DESTDIR)$(PREFIX), libraries into $(DESTDIR)$(LIBDIR); NVRTC=1 copies NVRTC, too; TUNE=0 leaves the name tune out
install: $(addprefix $(INSTALLED)/,tune libgemmtune.a libgemmtune.so.$(SOVERSION) libgemmtune_cublas.so) emulator
	$(Q)NVRTC="$(NVRTC)" TUNE="$(TUNE)" EMULATOR="$(EMULATOR)" tools/install "$(INSTALLED)" "$(DESTDIR)" "$(PREFIX)" "$(LIBDIR)" $(VERSION) $(SOVERSION)

## install-strip: as install, without what only a debugger reads
install-strip: export STRIP = 1
install-strip: install

## uninstall: remove what install put there
uninstall:
	$(Q)tools/install --remove "$(DESTDIR)" "$(PREFIX)" "$(LIBDIR)" $(SOVERSION)

## bundle: a relocatable tarball for machines on which nothing can be installed; NVRTC=1 packs NVRTC, too
bundle: $(BUNDLED)
	$(Q)NVRTC="$(NVRTC)" tools/bundle $(BUILD) $(VERSION)

## wheel: the Python package with the library, templates and tables inside (build/gemmtune-*.whl); HOMEPAGE=URL: its address
wheel: $(BUILD)/bundle/libgemmtune.so.$(SOVERSION)
	$(Q)tools/wheel $(BUILD) $(VERSION) $(HOMEPAGE)

## cross: build program and libraries for another processor: make cross CROSS=aarch64-linux-gnu
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
help:
	@sed -n 's/^## \([a-z_.-]*\): */\1\t/p' $(MAKEFILE_LIST) | sort | \
		awk -F'\t' '{ printf "  %-22s %s\n", $$1, $$2 }'

## clean: remove everything built
clean:
	$(Q)rm -rf $(BUILD) compile_commands.json

-include $(LIB_OBJ:.o=.d) $(SERVE_OBJ:.o=.d) $(TUNE_OBJ:.o=.d) $(EMU_OBJ:.o=.d) $(BUILD)/tests/emu/sample.d $(TEST_BIN:=.d)
