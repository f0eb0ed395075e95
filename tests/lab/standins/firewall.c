/*
 * Windows' firewall as COM shows it: HNetCfg.FwPolicy2 and HNetCfg.FWRule, whose shells in Wine have no members.
 *
 * Rules are kept where Windows keeps them and as it writes them ([MS-GPFAS] 2.2.2), and nothing goes by them. Each put
 * is checked as the documentation has it: a protocol before its ports, addresses and ports that are some, no `|`.
 * A rule out of the collection is checked and stored after each put. What stops MpsSvc is an order to fail.
 */
#include "automation.h"
#include <stdlib.h>
#include <ws2tcpip.h>

#define RULES L"SYSTEM\\CurrentControlSet\\Services\\SharedAccess\\Parameters\\FirewallPolicy\\FirewallRules"
#define LONGEST 8192
#define ID_LENGTH 40

const WCHAR *const STANDIN = L"firewall";

static const CLSID POLICY = {0xE2B3C97F, 0x6AE1, 0x41AC, {0x81, 0x7A, 0xF6, 0xF9, 0x21, 0x66, 0xD7, 0xDD}};
static const CLSID RULE = {0x2C5BC43E, 0x3369, 0x4C33, {0xAB, 0x0C, 0xBE, 0x94, 0x69, 0x67, 0x7A, 0xF4}};

enum { ICMP4 = 1, TCP = 6, UDP = 17, ANY_PROTOCOL = 256 };
enum { ALL_PROFILES = 0x7fffffff };

typedef enum {
    NAME, DESCRIPTION, PROGRAM, SERVICE, GROUPING, LOCAL_PORTS, REMOTE_PORTS, LOCAL_ADDRESSES, REMOTE_ADDRESSES, TEXTS
} text;
typedef enum { PROTOCOL, DIRECTION, ACTION, PROFILES, ENABLED, NUMBERS } number;

/* What each is called where it is kept; of lists each part is a word of its own. */
static const WCHAR *const WORDS[TEXTS] = {
    L"Name", L"Desc", L"App", L"Svc", L"EmbedCtxt", L"LPort", L"RPort", L"LA", L"RA",
};

typedef struct {
    object object;
    WCHAR id[ID_LENGTH]; /* empty until it is added */
    WCHAR *texts[TEXTS];
    LONG numbers[NUMBERS];
} rule;

static const class OF_RULE, OF_RULES, OF_POLICY;

/* What is allowed */

static BOOL has_ports(LONG protocol)
{
    return protocol == TCP || protocol == UDP;
}

static BOOL is_port(const WCHAR *part)
{
    static const WCHAR *const NAMES[] = {L"RPC", L"RPC-EPMap", L"IPHTTPS", L"Teredo", L"Ply2Disc"};
    unsigned first, last;
    int length = 0;

    for (size_t at = 0; at < ARRAYSIZE(NAMES); at++)
        if (!_wcsicmp(part, NAMES[at]))
            return TRUE;
    if (swscanf(part, L"%5u-%5u%n", &first, &last, &length) == 2 && !part[length])
        return first <= last && last <= 0xffff;
    return swscanf(part, L"%5u%n", &first, &length) == 1 && !part[length] && first <= 0xffff;
}

/* An address as it comes back: 10.1.0.0/16 as 10.1.0.0/255.255.0.0, a single one with its whole mask. */
static BOOL spelled(WCHAR *part, WCHAR *into, size_t room)
{
    static const WCHAR *const NAMES[] = {L"LocalSubnet", L"DHCP", L"DNS", L"WINS", L"Defaultgateway"};
    WCHAR *dash = wcschr(part, L'-'), *slash = wcschr(part, L'/'), text_of_it[64], text_of_mask[64], *end = NULL;
    IN_ADDR four, mask = {.s_addr = 0xffffffff};
    IN6_ADDR six;
    ULONG length = 0;

    for (size_t at = 0; at < ARRAYSIZE(NAMES); at++)
        if (!_wcsicmp(part, NAMES[at]))
            return swprintf(into, room, L"%ls", NAMES[at]) > 0;
    if (dash) {
        BOOL both;
        *dash = 0;
        both = (InetPtonW(AF_INET, part, &four) == 1 && InetPtonW(AF_INET, dash + 1, &four) == 1) ||
               (InetPtonW(AF_INET6, part, &six) == 1 && InetPtonW(AF_INET6, dash + 1, &six) == 1);
        return both && swprintf(into, room, L"%ls-%ls", part, dash + 1) > 0;
    }
    if (slash)
        *slash++ = 0;
    if (slash && !wcschr(slash, L'.') && (length = wcstoul(slash, &end, 10), !*slash || *end))
        return FALSE;
    if (InetPtonW(AF_INET6, part, &six) == 1) {
        if ((slash && wcschr(slash, L'.')) || length > 128)
            return FALSE;
        return swprintf(into, room, L"%ls/%lu", part, slash ? length : 128) > 0;
    }
    if (InetPtonW(AF_INET, part, &four) != 1 || length > 32)
        return FALSE;
    if (slash && wcschr(slash, L'.')) {
        if (InetPtonW(AF_INET, slash, &mask) != 1)
            return FALSE;
    } else if (slash) {
        mask.s_addr = length ? htonl(0xffffffffu << (32 - length)) : 0;
    }
    four.s_addr &= mask.s_addr;
    InetNtopW(AF_INET, &four, text_of_it, ARRAYSIZE(text_of_it));
    InetNtopW(AF_INET, &mask, text_of_mask, ARRAYSIZE(text_of_mask));
    return swprintf(into, room, L"%ls/%ls", text_of_it, text_of_mask) > 0;
}

/* A list as it comes back, NULL for one that cannot be. */
static WCHAR *listed(const WCHAR *given, text which)
{
    WCHAR *copy = _wcsdup(given), *made = calloc(LONGEST, sizeof(WCHAR)), *next = NULL, one[200];
    BOOL right = wcslen(given) < LONGEST / 4 && *given;

    if (!wcscmp(given, L"*")) {
        wcscpy(made, L"*");
    } else {
        for (WCHAR *part = wcstok(copy, L",", &next); part && right; part = wcstok(NULL, L",", &next)) {
            if (which == LOCAL_PORTS || which == REMOTE_PORTS)
                right = is_port(part) && swprintf(one, ARRAYSIZE(one), L"%ls", part) > 0;
            else
                right = spelled(part, one, ARRAYSIZE(one));
            if (right && *made)
                wcscat(made, L",");
            if (right)
                wcscat(made, one);
        }
    }
    free(copy);
    if (right)
        return made;
    free(made);
    return NULL;
}

static BOOL is_number(number which, LONG value)
{
    switch (which) {
    case PROTOCOL: return value >= 0 && value <= ANY_PROTOCOL;
    case DIRECTION: return value == 1 || value == 2;
    case ACTION: return value == 0 || value == 1;
    case PROFILES: return value == ALL_PROFILES || (value > 0 && value <= 7);
    default: return TRUE;
    }
}

/* Where they are kept */

static void add_word(WCHAR *line, const WCHAR *word, const WCHAR *value)
{
    swprintf(line + wcslen(line), LONGEST - wcslen(line), L"%ls=%ls|", word, value);
}

static void add_list(WCHAR *line, text which, const WCHAR *list)
{
    WCHAR *copy = _wcsdup(list), *next = NULL;

    for (WCHAR *part = wcstok(copy, L",", &next); part; part = wcstok(NULL, L",", &next)) {
        WCHAR word[16];
        const WCHAR *more = L"";

        if (which >= LOCAL_ADDRESSES)
            more = wcschr(part, L':') ? L"6" : L"4";
        else if (wcschr(part, L'-') && iswdigit(*part))
            more = L"2_10";
        swprintf(word, ARRAYSIZE(word), L"%ls%ls", WORDS[which], more);
        if (wcscmp(part, L"*"))
            add_word(line, word, part);
    }
    free(copy);
}

static HRESULT store(rule *self)
{
    static const WCHAR *const NAMES[] = {L"Domain", L"Private", L"Public"};
    WCHAR *line = calloc(LONGEST, sizeof(WCHAR)), protocol[16];
    LSTATUS status;

    swprintf(line, LONGEST, L"v2.30|Action=%ls|Active=%ls|Dir=%ls|", self->numbers[ACTION] ? L"Allow" : L"Block",
             self->numbers[ENABLED] ? L"TRUE" : L"FALSE", self->numbers[DIRECTION] == 1 ? L"In" : L"Out");
    swprintf(protocol, ARRAYSIZE(protocol), L"%ld", self->numbers[PROTOCOL]);
    if (self->numbers[PROTOCOL] != ANY_PROTOCOL)
        add_word(line, L"Protocol", protocol);
    for (int at = 0; at < 3 && (self->numbers[PROFILES] & 7) != 7; at++)
        if (self->numbers[PROFILES] & (1 << at))
            add_word(line, L"Profile", NAMES[at]);
    for (int at = 0; at < TEXTS; at++)
        if (at >= LOCAL_PORTS)
            add_list(line, at, self->texts[at] ? self->texts[at] : L"*");
        else if (self->texts[at] && *self->texts[at])
            add_word(line, WORDS[at], self->texts[at]);
    status = RegSetKeyValueW(HKEY_LOCAL_MACHINE, RULES, self->id, REG_SZ, line,
                             (DWORD)(wcslen(line) + 1) * sizeof(WCHAR));
    free(line);
    return HRESULT_FROM_WIN32(status);
}

static rule *new_rule(void)
{
    rule *made = new_object(&OF_RULE, sizeof(*made));

    made->numbers[PROTOCOL] = ANY_PROTOCOL;
    made->numbers[DIRECTION] = made->numbers[ACTION] = 1;
    made->numbers[PROFILES] = ALL_PROFILES;
    made->texts[LOCAL_ADDRESSES] = _wcsdup(L"*");
    made->texts[REMOTE_ADDRESSES] = _wcsdup(L"*");
    return made;
}

static void take_word(rule *made, const WCHAR *word, const WCHAR *value)
{
    static const WCHAR *const NAMES[] = {L"Domain", L"Private", L"Public"};

    if (!wcscmp(word, L"Protocol"))
        made->numbers[PROTOCOL] = wcstol(value, NULL, 10);
    if (!wcscmp(word, L"Action"))
        made->numbers[ACTION] = !wcscmp(value, L"Allow");
    if (!wcscmp(word, L"Active"))
        made->numbers[ENABLED] = !wcscmp(value, L"TRUE");
    if (!wcscmp(word, L"Dir"))
        made->numbers[DIRECTION] = wcscmp(value, L"In") ? 2 : 1;
    for (int at = 0; at < 3; at++)
        if (!wcscmp(word, L"Profile") && !wcscmp(value, NAMES[at]))
            made->numbers[PROFILES] = (made->numbers[PROFILES] == ALL_PROFILES ? 0 : made->numbers[PROFILES]) | 1 << at;
    for (int at = 0; at < TEXTS; at++) {
        size_t length = wcslen(WORDS[at]);
        const WCHAR *more = word + length;
        WCHAR *before = made->texts[at], *joined;

        if (wcsncmp(word, WORDS[at], length) || (*more && !iswdigit(*more)))
            continue;
        if (before && (!wcscmp(before, L"*") || at < LOCAL_PORTS))
            before = NULL;
        joined = calloc(wcslen(value) + (before ? wcslen(before) : 0) + 2, sizeof(WCHAR));
        swprintf(joined, LONGEST, L"%ls%ls%ls", before ? before : L"", before ? L"," : L"", value);
        free(made->texts[at]);
        made->texts[at] = joined;
    }
}

static rule *read_rule(const WCHAR *id, WCHAR *line)
{
    rule *made = new_rule();
    WCHAR *next = NULL;

    wcscpy(made->id, id);
    for (WCHAR *word = wcstok(line, L"|", &next); word; word = wcstok(NULL, L"|", &next)) {
        WCHAR *equals = wcschr(word, L'=');
        if (equals) {
            *equals = 0;
            take_word(made, word, equals + 1);
        }
    }
    for (int at = LOCAL_PORTS; at <= REMOTE_PORTS; at++)
        if (!made->texts[at] && has_ports(made->numbers[PROTOCOL]))
            made->texts[at] = _wcsdup(L"*");
    return made;
}

/* All of them; `count` of them are the caller's. */
static rule **read_rules(ULONG *count)
{
    rule **found = NULL;
    HKEY key;

    *count = 0;
    if (RegOpenKeyExW(HKEY_LOCAL_MACHINE, RULES, 0, KEY_READ, &key))
        return NULL;
    for (DWORD at = 0;; at++) {
        WCHAR id[ID_LENGTH], *line = calloc(LONGEST, sizeof(WCHAR));
        DWORD length = ID_LENGTH, size = LONGEST * sizeof(WCHAR);
        LSTATUS status = RegEnumValueW(key, at, id, &length, NULL, NULL, (BYTE *)line, &size);

        if (!status) {
            found = realloc(found, (*count + 1) * sizeof(*found));
            found[(*count)++] = read_rule(id, line);
        }
        free(line);
        if (status)
            break;
    }
    RegCloseKey(key);
    return found;
}

/* The first of a name, NULL where there is none. */
static rule *named(const WCHAR *name)
{
    ULONG count;
    rule **all = read_rules(&count), *found = NULL;

    for (ULONG at = 0; at < count; at++)
        if (!found && all[at]->texts[NAME] && !_wcsicmp(all[at]->texts[NAME], name))
            found = all[at];
        else
            IDispatch_Release((IDispatch *)all[at]);
    free(all);
    return found;
}

/* A rule's members: each is a property, told apart by its number. */

static HRESULT text_property(object *it, const call *asked, text which)
{
    rule *self = (rule *)it;
    BSTR given;
    WCHAR *made;

    if (asked->how != DISPATCH_PROPERTYPUT)
        return answer_text(asked, self->texts[which]);
    if ((which == LOCAL_PORTS || which == REMOTE_PORTS) && !has_ports(self->numbers[PROTOCOL]))
        return E_INVALIDARG;
    if (!(given = text_of(asked->arguments)))
        return DISP_E_TYPEMISMATCH;
    made = which >= LOCAL_PORTS ? listed(given, which) : _wcsdup(given);
    if (!made || wcschr(given, L'|') || (which == NAME && (!*given || !_wcsicmp(given, L"all")))) {
        SysFreeString(given);
        free(made);
        return E_INVALIDARG;
    }
    SysFreeString(given);
    free(self->texts[which]);
    self->texts[which] = made;
    return *self->id ? store(self) : S_OK;
}

static HRESULT number_property(object *it, const call *asked, number which)
{
    rule *self = (rule *)it;
    LONG given;

    if (asked->how != DISPATCH_PROPERTYPUT) {
        if (which != ENABLED)
            return answer_number(asked, self->numbers[which]);
        V_VT(asked->result) = VT_BOOL;
        V_BOOL(asked->result) = self->numbers[ENABLED] ? VARIANT_TRUE : VARIANT_FALSE;
        return S_OK;
    }
    if (!number_of(asked->arguments, &given))
        return DISP_E_TYPEMISMATCH;
    if (!is_number(which, given))
        return E_INVALIDARG;
    if (which == PROTOCOL && has_ports(given) != has_ports(self->numbers[PROTOCOL])) {
        /* Of one that is in use the ports would be nothing to the new protocol. */
        if (*self->id)
            return E_INVALIDARG;
        for (int at = LOCAL_PORTS; at <= REMOTE_PORTS; at++) {
            free(self->texts[at]);
            self->texts[at] = has_ports(given) ? _wcsdup(L"*") : NULL;
        }
    }
    self->numbers[which] = given;
    return *self->id ? store(self) : S_OK;
}

#define TEXT_PROPERTY(which) \
    static HRESULT property_##which(object *it, const call *asked) { return text_property(it, asked, which); }
#define NUMBER_PROPERTY(which) \
    static HRESULT property_##which(object *it, const call *asked) { return number_property(it, asked, which); }

TEXT_PROPERTY(NAME)
TEXT_PROPERTY(DESCRIPTION)
TEXT_PROPERTY(PROGRAM)
TEXT_PROPERTY(SERVICE)
TEXT_PROPERTY(GROUPING)
TEXT_PROPERTY(LOCAL_PORTS)
TEXT_PROPERTY(REMOTE_PORTS)
TEXT_PROPERTY(LOCAL_ADDRESSES)
TEXT_PROPERTY(REMOTE_ADDRESSES)
NUMBER_PROPERTY(PROTOCOL)
NUMBER_PROPERTY(DIRECTION)
NUMBER_PROPERTY(ACTION)
NUMBER_PROPERTY(PROFILES)
NUMBER_PROPERTY(ENABLED)

static void forget_rule(object *it)
{
    for (int at = 0; at < TEXTS; at++)
        free(((rule *)it)->texts[at]);
}

static const class OF_RULE = {
    L"Rule",
    (const member[]){
        {L"Name", 1, property_NAME, FALSE},
        {L"Description", 2, property_DESCRIPTION, FALSE},
        {L"ApplicationName", 3, property_PROGRAM, FALSE},
        {L"ServiceName", 4, property_SERVICE, FALSE},
        {L"Protocol", 5, property_PROTOCOL, FALSE},
        {L"LocalPorts", 6, property_LOCAL_PORTS, FALSE},
        {L"RemotePorts", 7, property_REMOTE_PORTS, FALSE},
        {L"LocalAddresses", 8, property_LOCAL_ADDRESSES, FALSE},
        {L"RemoteAddresses", 9, property_REMOTE_ADDRESSES, FALSE},
        {L"Direction", 11, property_DIRECTION, FALSE},
        {L"Enabled", 14, property_ENABLED, FALSE},
        {L"Grouping", 15, property_GROUPING, FALSE},
        {L"Profiles", 16, property_PROFILES, FALSE},
        {L"Action", 18, property_ACTION, FALSE},
        {NULL, 0, NULL, FALSE},
    },
    forget_rule,
};

/* The collection */

static HRESULT add(object *it, const call *asked)
{
    GUID id;
    rule *given = NULL;
    WCHAR line[512];

    (void)it;
    if (asked->count != 1 || V_VT(asked->arguments) != VT_DISPATCH)
        return DISP_E_TYPEMISMATCH;
    if (((object *)V_DISPATCH(asked->arguments))->class != &OF_RULE)
        return E_INVALIDARG;
    given = (rule *)V_DISPATCH(asked->arguments);
    if (*given->id)
        return E_UNEXPECTED;
    if (!given->texts[NAME])
        return E_INVALIDARG;
    CoCreateGuid(&id);
    StringFromGUID2(&id, given->id, ID_LENGTH);
    swprintf(line, ARRAYSIZE(line), L"Add %ls", given->texts[NAME]);
    write_down(STANDIN, line);
    return store(given);
}

static HRESULT remove_rule(object *it, const call *asked)
{
    BSTR name = asked->count == 1 ? text_of(asked->arguments) : NULL;
    WCHAR line[512];
    rule *found;

    (void)it;
    if (!name)
        return DISP_E_TYPEMISMATCH;
    found = named(name);
    swprintf(line, ARRAYSIZE(line), L"Remove %ls", name);
    write_down(STANDIN, line);
    SysFreeString(name);
    if (found) { /* of none the real one says nothing either */
        RegDeleteKeyValueW(HKEY_LOCAL_MACHINE, RULES, found->id);
        IDispatch_Release((IDispatch *)found);
    }
    return S_OK;
}

static HRESULT item(object *it, const call *asked)
{
    BSTR name = asked->count == 1 ? text_of(asked->arguments) : NULL;
    rule *found;

    (void)it;
    if (!name)
        return DISP_E_TYPEMISMATCH;
    found = named(name);
    SysFreeString(name);
    return found ? answer_object(asked, found) : HRESULT_FROM_WIN32(ERROR_FILE_NOT_FOUND);
}

static HRESULT each(object *it, const call *asked)
{
    ULONG count;
    rule **all = read_rules(&count);

    (void)it;
    return answer_enumeration(asked, (void **)all, count);
}

static const class OF_RULES = {
    L"Rules",
    (const member[]){
        {L"Add", 2, add, TRUE},
        {L"Remove", 3, remove_rule, TRUE},
        {L"Item", 4, item, TRUE},
        {L"_NewEnum", DISPID_NEWENUM, each, FALSE},
        {NULL, 0, NULL, FALSE},
    },
    NULL,
};

static HRESULT rules(object *it, const call *asked)
{
    (void)it;
    return asked->how & DISPATCH_PROPERTYGET ? answer_object(asked, new_object(&OF_RULES, sizeof(object)))
                                             : DISP_E_MEMBERNOTFOUND;
}

static const class OF_POLICY = {
    L"Policy",
    (const member[]){{L"Rules", 7, rules, FALSE}, {NULL, 0, NULL, FALSE}},
    NULL,
};

object *make(REFCLSID wanted)
{
    if (IsEqualCLSID(wanted, &POLICY))
        return new_object(&OF_POLICY, sizeof(object));
    return IsEqualCLSID(wanted, &RULE) ? (object *)new_rule() : NULL;
}
