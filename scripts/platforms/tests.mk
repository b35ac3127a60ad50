# tests.mk: the tests of the CPU engine that need nothing of this machine but a C library, for any platform:
#   make PLATFORM=wasm test-engine            all of them
#   make PLATFORM=wasm test-engine PART=ci    those of CI
# Lua of this machine runs the scripts that start programs. What a platform cannot run is skipped, with the
# reason that skips.lua has.

# Programs that this machine cannot start have a script that does.
started = $(if $(PLATFORM_RUNNER),$(patsubst $(BUILD)/%,$(BUILD)/run/%,$(1)),$(1))
$(BUILD)/run/%: $(BUILD)/%
	@mkdir -p $(@D)
	@printf '#!/bin/sh\nexec %s "%s" "$$@"\n' '$(PLATFORM_RUNNER)' '$(abspath $<)' > $@ && chmod +x $@

ENGINE_PROGRAM := $(call started,$(PROGRAM))
ENGINE_STATES := $(call started,$(STATES_BIN))
ENGINE_LAWS := $(call started,$(LAWS_BIN))
RUN_ENGINE = $(LUA) scripts/run_tests.lua --cuttle=$(ENGINE_PROGRAM) --platform=$(or $(PLATFORM),none) \
	--time-limit=$(or $(PLATFORM_TIME_LIMIT),300)
RUN_STATES = $(ENGINE_STATES) scripts/run_tests.lua --platform=$(or $(PLATFORM),none) --cuttle=$(ENGINE_PROGRAM)
CHOOSE = $(LUA) scripts/platforms/choose.lua

ENGINE_LUA = $(filter-out tests/lua/program,$(wildcard tests/lua/*))
ENGINE_C := $(if $(filter test-engine,$(MAKECMDGOALS)),\
	$(shell $(CHOOSE) $(or $(PLATFORM),none) $(TEST_SRC:%.c=%)))
ENGINE_LAW_CHECKS = $(if $(PART),20000,200000)

$(call tap_if,tests/conformance,engine_conformance,\
	scripts/tap_status.sh $(ENGINE_PROGRAM) scripts/conformance.lua $(wildcard tests/conformance/*.lua),ENGINE_SCRIPTS)
$(call tap_if,tests/kernel_cases,engine_kernel_cases,env CUTTLE_DEVICE=cpu $(ENGINE_PROGRAM) \
	scripts/kernel_cases.lua $(wildcard tests/kernel_cases/*.lua),ENGINE_SCRIPTS)
$(call tap_if,tests/laws,engine_laws,$(ENGINE_LAWS) $(ENGINE_LAW_CHECKS),ENGINE_SCRIPTS)
$(call tap_if,tests/fails,engine_fails,$(RUN_STATES) $(wildcard tests/fails/*.cases),ENGINE_SCRIPTS)
$(call tap_if,tests/fails,engine_fails_program,$(RUN_ENGINE) --processes tests/fails,ENGINE_SCRIPTS)
$(call tap_if,tests/golden/*.lua,engine_golden,$(RUN_ENGINE) tests/golden,ENGINE_SCRIPTS)
$(call tap_if,examples/*.lua,engine_examples,$(RUN_ENGINE) --by-status examples,ENGINE_SCRIPTS)
$(call tap_if,tests/c,engine_left_out,$(CHOOSE) --tap $(or $(PLATFORM),none) $(TEST_SRC:%.c=%),ENGINE_SCRIPTS)
$(foreach d,$(ENGINE_LUA),$(call tap_if,$(d),engine_lua_$(notdir $(d)),$(RUN_ENGINE) $(d),ENGINE_SCRIPTS))

# Of CI: what finds other bits soonest, for the time it takes. Under an emulator messages take too long.
ENGINE_PART_ci = conformance kernel_cases laws left_out lua_layout lua_dtype lua_cpu $(if $(PLATFORM_RUNNER),,fails)
ENGINE_C_ci = test_simt_ops test_simt_fma test_simt_tile test_tensor_core
ifneq ($(PART),)
ENGINE_SCRIPTS := $(addprefix $(TAP_DIR)/engine_,$(ENGINE_PART_$(PART)))
ENGINE_C := $(filter $(addprefix tests/c/,$(ENGINE_C_$(PART))),$(ENGINE_C))
endif
ENGINE_BIN := $(call started,$(ENGINE_C:%=$(BUILD)/%))

test-engine: $(ENGINE_PROGRAM) $(ENGINE_STATES) $(ENGINE_LAWS) $(ENGINE_BIN) $(ENGINE_SCRIPTS)
	@$(PROVE) $(ENGINE_SCRIPTS) $(ENGINE_BIN)
