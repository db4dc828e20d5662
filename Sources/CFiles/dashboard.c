#include "relay_files.h"

/* #embed is of C23; this clang has it in every mode, and warns. */
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char actions_js[] = {
#embed "../relayd/Control/Dashboard/Page/actions.js"
};
static const unsigned char address_js[] = {
#embed "../relayd/Control/Dashboard/Page/address.js"
};
static const unsigned char api_js[] = {
#embed "../relayd/Control/Dashboard/Page/api.js"
};
static const unsigned char cards_js[] = {
#embed "../relayd/Control/Dashboard/Page/cards.js"
};
static const unsigned char chain_js[] = {
#embed "../relayd/Control/Dashboard/Page/chain.js"
};
static const unsigned char composer_js[] = {
#embed "../relayd/Control/Dashboard/Page/composer.js"
};
static const unsigned char console_js[] = {
#embed "../relayd/Control/Dashboard/Page/console.js"
};
static const unsigned char dashboard_css[] = {
#embed "../relayd/Control/Dashboard/Page/dashboard.css"
};
static const unsigned char dashboard_html[] = {
#embed "../relayd/Control/Dashboard/Page/dashboard.html"
};
static const unsigned char detail_js[] = {
#embed "../relayd/Control/Dashboard/Page/detail.js"
};
static const unsigned char dom_js[] = {
#embed "../relayd/Control/Dashboard/Page/dom.js"
};
static const unsigned char drive_js[] = {
#embed "../relayd/Control/Dashboard/Page/drive.js"
};
static const unsigned char faultpanel_js[] = {
#embed "../relayd/Control/Dashboard/Page/faultpanel.js"
};
static const unsigned char faults_js[] = {
#embed "../relayd/Control/Dashboard/Page/faults.js"
};
static const unsigned char filter_js[] = {
#embed "../relayd/Control/Dashboard/Page/filter.js"
};
static const unsigned char form_js[] = {
#embed "../relayd/Control/Dashboard/Page/form.js"
};
static const unsigned char icon_svg[] = {
#embed "../relayd/Control/Dashboard/Page/icon.svg"
};
static const unsigned char keys_js[] = {
#embed "../relayd/Control/Dashboard/Page/keys.js"
};
static const unsigned char limits_js[] = {
#embed "../relayd/Control/Dashboard/Page/limits.js"
};
static const unsigned char main_js[] = {
#embed "../relayd/Control/Dashboard/Page/main.js"
};
static const unsigned char plots_js[] = {
#embed "../relayd/Control/Dashboard/Page/plots.js"
};
static const unsigned char recorded_js[] = {
#embed "../relayd/Control/Dashboard/Page/recorded.js"
};
static const unsigned char recordings_js[] = {
#embed "../relayd/Control/Dashboard/Page/recordings.js"
};
static const unsigned char saved_js[] = {
#embed "../relayd/Control/Dashboard/Page/saved.js"
};
static const unsigned char scenarios_js[] = {
#embed "../relayd/Control/Dashboard/Page/scenarios.js"
};
static const unsigned char specification_js[] = {
#embed "../relayd/Control/Dashboard/Page/specification.js"
};
static const unsigned char store_js[] = {
#embed "../relayd/Control/Dashboard/Page/store.js"
};
static const unsigned char stream_js[] = {
#embed "../relayd/Control/Dashboard/Page/stream.js"
};
static const unsigned char summary_js[] = {
#embed "../relayd/Control/Dashboard/Page/summary.js"
};
static const unsigned char upload_js[] = {
#embed "../relayd/Control/Dashboard/Page/upload.js"
};
static const unsigned char vehicle_js[] = {
#embed "../relayd/Control/Dashboard/Page/vehicle.js"
};

#define FILE(name, bytes) {name, bytes, sizeof bytes}
static const struct relay_file files[] = {
    FILE("actions.js", actions_js),
    FILE("address.js", address_js),
    FILE("api.js", api_js),
    FILE("cards.js", cards_js),
    FILE("chain.js", chain_js),
    FILE("composer.js", composer_js),
    FILE("console.js", console_js),
    FILE("dashboard.css", dashboard_css),
    FILE("dashboard.html", dashboard_html),
    FILE("detail.js", detail_js),
    FILE("dom.js", dom_js),
    FILE("drive.js", drive_js),
    FILE("faultpanel.js", faultpanel_js),
    FILE("faults.js", faults_js),
    FILE("filter.js", filter_js),
    FILE("form.js", form_js),
    FILE("icon.svg", icon_svg),
    FILE("keys.js", keys_js),
    FILE("limits.js", limits_js),
    FILE("main.js", main_js),
    FILE("plots.js", plots_js),
    FILE("recorded.js", recorded_js),
    FILE("recordings.js", recordings_js),
    FILE("saved.js", saved_js),
    FILE("scenarios.js", scenarios_js),
    FILE("specification.js", specification_js),
    FILE("store.js", store_js),
    FILE("stream.js", stream_js),
    FILE("summary.js", summary_js),
    FILE("upload.js", upload_js),
    FILE("vehicle.js", vehicle_js),
};

size_t relay_dashboard_file_count(void)
{
    return sizeof files / sizeof files[0];
}

struct relay_file relay_dashboard_file(size_t index)
{
    return files[index];
}
