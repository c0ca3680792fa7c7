#include "page.h"

// `#embed` of C23 puts the bytes of a file into the program.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char index_html[] = {
#embed "page/index.html"
};
static const unsigned char style_css[] = {
#embed "page/style.css"
};
static const unsigned char icon_svg[] = {
#embed "page/icon.svg"
};
static const unsigned char main_js[] = {
#embed "page/main.js"
};
static const unsigned char api_js[] = {
#embed "page/api.js"
};
static const unsigned char exact_js[] = {
#embed "page/exact.js"
};
static const unsigned char modules_js[] = {
#embed "page/modules.js"
};
static const unsigned char dom_js[] = {
#embed "page/dom.js"
};
static const unsigned char words_js[] = {
#embed "page/words.js"
};
static const unsigned char texts_js[] = {
#embed "page/texts.js"
};
static const unsigned char schema_js[] = {
#embed "page/schema.js"
};
static const unsigned char store_js[] = {
#embed "page/store.js"
};
static const unsigned char tray_js[] = {
#embed "page/tray.js"
};
static const unsigned char pending_js[] = {
#embed "page/pending.js"
};
static const unsigned char pendinglist_js[] = {
#embed "page/pendinglist.js"
};
static const unsigned char drafts_js[] = {
#embed "page/drafts.js"
};
static const unsigned char list_js[] = {
#embed "page/list.js"
};
static const unsigned char editors_js[] = {
#embed "page/editors.js"
};
static const unsigned char formats_js[] = {
#embed "page/formats.js"
};
static const unsigned char structures_js[] = {
#embed "page/structures.js"
};
static const unsigned char forms_js[] = {
#embed "page/forms.js"
};
static const unsigned char suites_js[] = {
#embed "page/suites.js"
};
static const unsigned char tree_js[] = {
#embed "page/tree.js"
};
static const unsigned char suite_js[] = {
#embed "page/suite.js"
};
static const unsigned char setting_js[] = {
#embed "page/setting.js"
};
static const unsigned char changes_js[] = {
#embed "page/changes.js"
};
static const unsigned char review_js[] = {
#embed "page/review.js"
};
static const unsigned char history_js[] = {
#embed "page/history.js"
};
static const unsigned char schemas_js[] = {
#embed "page/schemas.js"
};
static const unsigned char transfer_js[] = {
#embed "page/transfer.js"
};
static const unsigned char service_js[] = {
#embed "page/service.js"
};
static const unsigned char commits_js[] = {
#embed "page/commits.js"
};
static const unsigned char undo_js[] = {
#embed "page/undo.js"
};
static const unsigned char feed_js[] = {
#embed "page/feed.js"
};
static const unsigned char search_js[] = {
#embed "page/search.js"
};
static const unsigned char difference_js[] = {
#embed "page/difference.js"
};
static const unsigned char textdiff_js[] = {
#embed "page/textdiff.js"
};
static const unsigned char menu_js[] = {
#embed "page/menu.js"
};
static const unsigned char compare_js[] = {
#embed "page/compare.js"
};
static const unsigned char manage_js[] = {
#embed "page/manage.js"
};
static const unsigned char clients_js[] = {
#embed "page/clients.js"
};
static const unsigned char absent_js[] = {
#embed "page/absent.js"
};

#define FILE(name, bytes) {name, bytes, sizeof bytes}

static const struct page_file files[] = {
    FILE("index.html", index_html),
    FILE("style.css", style_css),
    FILE("icon.svg", icon_svg),
    FILE("main.js", main_js),
    FILE("api.js", api_js),
    FILE("exact.js", exact_js),
    FILE("modules.js", modules_js),
    FILE("dom.js", dom_js),
    FILE("words.js", words_js),
    FILE("texts.js", texts_js),
    FILE("schema.js", schema_js),
    FILE("store.js", store_js),
    FILE("tray.js", tray_js),
    FILE("pending.js", pending_js),
    FILE("pendinglist.js", pendinglist_js),
    FILE("drafts.js", drafts_js),
    FILE("list.js", list_js),
    FILE("editors.js", editors_js),
    FILE("formats.js", formats_js),
    FILE("structures.js", structures_js),
    FILE("forms.js", forms_js),
    FILE("suites.js", suites_js),
    FILE("tree.js", tree_js),
    FILE("suite.js", suite_js),
    FILE("setting.js", setting_js),
    FILE("changes.js", changes_js),
    FILE("review.js", review_js),
    FILE("history.js", history_js),
    FILE("schemas.js", schemas_js),
    FILE("transfer.js", transfer_js),
    FILE("clients.js", clients_js),
    FILE("service.js", service_js),
    FILE("search.js", search_js),
    FILE("feed.js", feed_js),
    FILE("undo.js", undo_js),
    FILE("commits.js", commits_js),
    FILE("difference.js", difference_js),
    FILE("textdiff.js", textdiff_js),
    FILE("menu.js", menu_js),
    FILE("compare.js", compare_js),
    FILE("manage.js", manage_js),
    FILE("absent.js", absent_js),
};

const struct page_file *page_files(size_t *count) {
    *count = sizeof files / sizeof *files;
    return files;
}
