#include "relay_files.h"

/* #embed is of C23; this clang has it in every mode, and warns. */
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char language_change[] = {
#embed "../../config/scenarios/language-change.yaml"
};
static const unsigned char low_memory[] = {
#embed "../../config/scenarios/low-memory.yaml"
};
static const unsigned char permission_withdrawn[] = {
#embed "../../config/scenarios/permission-withdrawn.yaml"
};
static const unsigned char reboot_during_putfile[] = {
#embed "../../config/scenarios/reboot-during-putfile.yaml"
};
static const unsigned char resumption_wrong_hash[] = {
#embed "../../config/scenarios/resumption-wrong-hash.yaml"
};
static const unsigned char slow_bluetooth[] = {
#embed "../../config/scenarios/slow-bluetooth.yaml"
};
static const unsigned char soft_buttons[] = {
#embed "../../config/scenarios/soft-buttons.yaml"
};

/* By name. */
static const struct relay_file scenarios[] = {
    {"language-change", language_change, sizeof language_change},
    {"low-memory", low_memory, sizeof low_memory},
    {"permission-withdrawn", permission_withdrawn, sizeof permission_withdrawn},
    {"reboot-during-putfile", reboot_during_putfile, sizeof reboot_during_putfile},
    {"resumption-wrong-hash", resumption_wrong_hash, sizeof resumption_wrong_hash},
    {"slow-bluetooth", slow_bluetooth, sizeof slow_bluetooth},
    {"soft-buttons", soft_buttons, sizeof soft_buttons},
};

size_t relay_scenario_count(void)
{
    return sizeof scenarios / sizeof scenarios[0];
}

struct relay_file relay_scenario(size_t index)
{
    return scenarios[index];
}
