# gemmtune: every source is listed once, below.  `make help` says what can be made.
VERSION := 0.1.0
BUILD   ?= build
CC      ?= cc
PREFIX  ?= /usr/local
SAN     ?=

Q := $(if $(filter 1,$(V)),,@)
CFLAGS   ?= -O2 -g
WARNINGS := -Wall -Wextra -Wwrite-strings -Wvla -Wstrict-prototypes -Wmissing-prototypes \
            -Wno-format-truncation -Werror
GT_CFLAGS := -std=c11 -D_GNU_SOURCE $(WARNINGS) -fPIC -MMD -MP -Isrc $(CFLAGS)
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
	src/problem.c \
	src/problem_text.c \
	src/digest.c \
	src/stats.c \
	src/trial.c \
	src/json.c \
	src/device.c \

# The program.
TUNE_SRC := \

# Unit tests: one program a file, tests/unit/test_<module>.c.
TESTS := \

LIB_OBJ  := $(LIB_SRC:%.c=$(BUILD)/%.o)
TUNE_OBJ := $(TUNE_SRC:%.c=$(BUILD)/%.o)

## all: build the program and the library
.PHONY: all
all: $(BUILD)/libgemmtune.a

$(BUILD)/%.o: %.c
	@mkdir -p $(@D)
	$(Q)$(CC) $(GT_CFLAGS) $(CPPFLAGS) -c $< -o $@

$(BUILD)/libgemmtune.a: $(LIB_OBJ)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

# Everything but tuner/main.c, for the unit tests to link.
$(BUILD)/libtuner.a: $(filter-out $(BUILD)/tuner/main.o,$(TUNE_OBJ)) $(LIB_OBJ)
	$(Q)rm -f $@ && $(AR) rcs $@ $^

$(BUILD)/tests/unit/%: tests/unit/%.c $(BUILD)/libtuner.a
	@mkdir -p $(@D)
	$(Q)$(CC) $(GT_CFLAGS) $(CPPFLAGS) $< $(BUILD)/libtuner.a -o $@ $(LDFLAGS) -lcmocka $(LDLIBS)

## help: this list
.PHONY: help
help:
	@sed -n 's/^## \([a-z-]*\): */\1\t/p' $(MAKEFILE_LIST) | sort | awk -F'\t' '{ printf "  %-18s %s\n", $$1, $$2 }'

## clean: remove everything built
.PHONY: clean
clean:
	$(Q)rm -rf $(BUILD)

-include $(LIB_OBJ:.o=.d) $(TUNE_OBJ:.o=.d)
