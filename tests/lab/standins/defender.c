/*
 * Microsoft Defender as WMI shows it: WbemScripting.SWbemLocator, which knows the one namespace and its class
 * MSFT_MpPreference, and passes all other namespaces on to Wine's own (wbemdisp.dll).
 *
 * Wine's WMI can't be given classes. Exclusions are kept where Defender keeps them. What it may be told besides
 * refusing: `swallow`, which is to say yes and do nothing, and `hide`, a sentence in the place of exclusions.
 */
#include "automation.h"
#include <stdlib.h>

#define NAMESPACE L"root\\Microsoft\\Windows\\Defender"
#define OF_CLASS L"MSFT_MpPreference"
#define EXCLUSIONS L"SOFTWARE\\Microsoft\\Windows Defender\\Exclusions\\"
#define HIDDEN L"N/A: Must be an administrator to view exclusions"
#define LONGEST 1024

#define WBEM_E_NOT_FOUND ((HRESULT)0x80041002)
#define WBEM_E_INVALID_CLASS ((HRESULT)0x80041010)
#define WBEM_E_INVALID_METHOD ((HRESULT)0x8004102e)

const WCHAR *const STANDIN = L"defender";

static const CLSID LOCATOR = {0x76A64158, 0xCB41, 0x11D1, {0x8B, 0x02, 0x00, 0x60, 0x08, 0x06, 0xD9, 0xB6}};

typedef enum { PATHS, PROCESSES, LISTS, FORCE = LISTS, ALL } list;

static const WCHAR *const KEYS[LISTS] = {EXCLUSIONS L"Paths", EXCLUSIONS L"Processes"};
static const WCHAR *const PROPERTIES[ALL] = {L"ExclusionPath", L"ExclusionProcess", L"Force"};
static const WCHAR *const METHODS[2] = {L"Add", L"Remove"};

typedef struct {
    object object;
    VARIANT lists[LISTS];
} parameters;

/* One property of what is there, or of parameters; or all of them. */
typedef struct {
    object object;
    list which;
    parameters *of;
} property;

typedef struct {
    object object;
    const WCHAR *name;
} named;

static const class OF_SERVICES, OF_SET, OF_PREFERENCE, OF_MPPREFERENCE, OF_METHODS, OF_METHOD, OF_PARAMETERS,
    OF_OUTCOME, OF_RESULTS, OF_RESULT, OF_PATH, OF_PROPERTIES, OF_PROPERTY, OF_QUALIFIERS, OF_QUALIFIER, OF_NOTHING;

static HRESULT plain(const call *asked, const class *class)
{
    return answer_object(asked, new_object(class, sizeof(object)));
}

/* What is there */

static void add_text(SAFEARRAY *values, const WCHAR *text)
{
    LONG last;
    SAFEARRAYBOUND bound = {0, 0};
    VARIANT value;

    SafeArrayGetUBound(values, 1, &last);
    last++;
    bound.cElements = last + 1;
    SafeArrayRedim(values, &bound);
    V_VT(&value) = VT_BSTR;
    V_BSTR(&value) = SysAllocString(text);
    SafeArrayPutElement(values, &last, &value);
    VariantClear(&value);
}

static HRESULT tell_list(const call *asked, list which)
{
    SAFEARRAY *values = SafeArrayCreateVector(VT_VARIANT, 0, 0);
    WCHAR name[LONGEST];
    DWORD length;
    LONG last;
    HKEY key;

    if (told_to_fail(STANDIN, L"hide"))
        add_text(values, HIDDEN);
    else if (!RegOpenKeyExW(HKEY_LOCAL_MACHINE, KEYS[which], 0, KEY_READ, &key)) {
        for (DWORD at = 0; length = LONGEST, !RegEnumValueW(key, at, name, &length, NULL, NULL, NULL, NULL); at++)
            add_text(values, name);
        RegCloseKey(key);
    }
    SafeArrayGetUBound(values, 1, &last);
    V_VT(asked->result) = last >= 0 ? VT_ARRAY | VT_VARIANT : VT_NULL;
    if (last >= 0)
        V_ARRAY(asked->result) = values;
    else
        SafeArrayDestroy(values);
    return S_OK;
}

/* What is changed: texts in an array, which WMI takes as such or as variants. */

static HRESULT change(list which, const WCHAR *method, const WCHAR *value)
{
    WCHAR line[LONGEST + 64];
    DWORD zero = 0;

    swprintf(line, LONGEST + 64, L"%ls %ls %ls", method, PROPERTIES[which], value);
    write_down(STANDIN, line);
    if (told_to_fail(STANDIN, L"swallow"))
        return S_OK;
    if (!wcscmp(method, L"Add"))
        return HRESULT_FROM_WIN32(RegSetKeyValueW(HKEY_LOCAL_MACHINE, KEYS[which], value, REG_DWORD, &zero, 4));
    return RegDeleteKeyValueW(HKEY_LOCAL_MACHINE, KEYS[which], value) ? WBEM_E_NOT_FOUND : S_OK;
}

static HRESULT change_all(list which, const WCHAR *method, const VARIANT *values)
{
    BOOL are_texts = V_VT(values) == (VT_ARRAY | VT_BSTR);
    LONG first, last;

    if (V_VT(values) == VT_EMPTY)
        return S_OK;
    SafeArrayGetLBound(V_ARRAY(values), 1, &first);
    SafeArrayGetUBound(V_ARRAY(values), 1, &last);
    for (LONG at = first; at <= last; at++) {
        VARIANT value;
        HRESULT code;

        VariantInit(&value);
        if (are_texts) {
            V_VT(&value) = VT_BSTR;
            SafeArrayGetElement(V_ARRAY(values), &at, &V_BSTR(&value));
        } else {
            SafeArrayGetElement(V_ARRAY(values), &at, &value);
        }
        code = V_VT(&value) == VT_BSTR ? change(which, method, V_BSTR(&value)) : DISP_E_TYPEMISMATCH;
        VariantClear(&value);
        if (code)
            return code;
    }
    return S_OK;
}

static HRESULT put_list(object *it, const call *asked, list which)
{
    VARIANT *place = &((parameters *)it)->lists[which];

    if (asked->how != DISPATCH_PROPERTYPUT)
        return VariantCopy(asked->result, place);
    if (V_VT(asked->arguments) != (VT_ARRAY | VT_VARIANT) && V_VT(asked->arguments) != (VT_ARRAY | VT_BSTR))
        return DISP_E_TYPEMISMATCH;
    return VariantCopy(place, asked->arguments);
}

static HRESULT put_force(const call *asked)
{
    return asked->how == DISPATCH_PROPERTYPUT && V_VT(asked->arguments) == VT_BOOL ? S_OK : DISP_E_TYPEMISMATCH;
}

static void forget_parameters(object *it)
{
    for (int which = 0; which < LISTS; which++)
        VariantClear(&((parameters *)it)->lists[which]);
}

static HRESULT execute(object *it, const call *asked)
{
    BSTR method = asked->count == 2 ? text_of(&asked->arguments[0]) : NULL;
    parameters *given;
    HRESULT code = S_OK;

    (void)it;
    if (!method || V_VT(&asked->arguments[1]) != VT_DISPATCH)
        return DISP_E_TYPEMISMATCH;
    given = (parameters *)V_DISPATCH(&asked->arguments[1]);
    if (given->object.class != &OF_PARAMETERS || (wcscmp(method, L"Add") && wcscmp(method, L"Remove")))
        code = WBEM_E_INVALID_METHOD;
    for (int which = 0; which < LISTS && !code && !told_to_fail(STANDIN, L"ReturnValue"); which++)
        code = change_all(which, method, &given->lists[which]);
    SysFreeString(method);
    return code ? code : plain(asked, &OF_OUTCOME);
}

/* Properties, and what they are */

static void *new_property(const class *class, list which, parameters *of)
{
    property *made = new_object(class, sizeof(property));

    made->which = which;
    made->of = of;
    if (of)
        IDispatch_AddRef((IDispatch *)of);
    return made;
}

static void forget_property(object *it)
{
    if (((property *)it)->of)
        IDispatch_Release((IDispatch *)((property *)it)->of);
}

static HRESULT properties(object *it, const call *asked)
{
    parameters *of = it->class == &OF_PARAMETERS ? (parameters *)it : NULL;

    return answer_object(asked, new_property(&OF_PROPERTIES, PATHS, of));
}

static HRESULT every_property(object *it, const call *asked)
{
    parameters *of = ((property *)it)->of;
    ULONG count = of ? ALL : LISTS;
    void **all = calloc(count, sizeof(*all));

    for (ULONG at = 0; at < count; at++)
        all[at] = new_property(&OF_PROPERTY, at, of);
    return answer_enumeration(asked, all, count);
}

static HRESULT property_of_name(object *it, const call *asked)
{
    BSTR name = asked->count ? text_of(asked->arguments) : NULL;
    parameters *of = ((property *)it)->of;
    list which = PATHS;

    while (name && which < ALL && _wcsicmp(name, PROPERTIES[which]))
        which++;
    SysFreeString(name);
    if (!name || which >= (of ? ALL : LISTS))
        return WBEM_E_NOT_FOUND;
    return answer_object(asked, new_property(&OF_PROPERTY, which, of));
}

static HRESULT property_name(object *it, const call *asked)
{
    return answer_text(asked, PROPERTIES[((property *)it)->which]);
}

static HRESULT property_is_array(object *it, const call *asked)
{
    return answer_number(asked, ((property *)it)->which < LISTS);
}

static HRESULT property_value(object *it, const call *asked)
{
    property *self = (property *)it;

    if (self->which == FORCE)
        return put_force(asked);
    return self->of ? put_list(&self->of->object, asked, self->which) : tell_list(asked, self->which);
}

static HRESULT qualifiers(object *it, const call *asked)
{
    (void)it;
    return plain(asked, &OF_QUALIFIERS);
}

static HRESULT nothing(object *it, const call *asked)
{
    (void)it;
    return plain(asked, &OF_NOTHING);
}

static HRESULT none(object *it, const call *asked)
{
    (void)it;
    return answer_enumeration(asked, calloc(1, sizeof(void *)), 0);
}

static HRESULT only(const call *asked, const class *class)
{
    void **one = calloc(1, sizeof(*one));

    *one = new_object(class, sizeof(object));
    return answer_enumeration(asked, one, 1);
}

static HRESULT every_qualifier(object *it, const call *asked)
{
    (void)it;
    return only(asked, &OF_QUALIFIER);
}

static HRESULT qualifier_name(object *it, const call *asked)
{
    (void)it;
    return answer_text(asked, L"CIMTYPE");
}

static HRESULT qualifier_value(object *it, const call *asked)
{
    (void)it;
    return answer_text(asked, L"string");
}

static HRESULT every_result(object *it, const call *asked)
{
    (void)it;
    return only(asked, &OF_RESULT);
}

static HRESULT result_of_name(object *it, const call *asked)
{
    (void)it;
    return plain(asked, &OF_RESULT);
}

static HRESULT result_name(object *it, const call *asked)
{
    (void)it;
    return answer_text(asked, L"ReturnValue");
}

static HRESULT result_is_array(object *it, const call *asked)
{
    (void)it;
    return answer_number(asked, FALSE);
}

static HRESULT result_value(object *it, const call *asked)
{
    (void)it;
    return answer_number(asked, told_to_fail(STANDIN, L"ReturnValue"));
}

static HRESULT results(object *it, const call *asked)
{
    (void)it;
    return plain(asked, &OF_RESULTS);
}

/* The way there */

static HRESULT path(object *it, const call *asked)
{
    (void)it;
    return plain(asked, &OF_PATH);
}

static HRESULT display_name(object *it, const call *asked)
{
    (void)it;
    return answer_text(asked, L"WINMGMTS:" NAMESPACE L":" OF_CLASS);
}

static HRESULT method_named(const call *asked, const WCHAR *name)
{
    named *made = new_object(&OF_METHOD, sizeof(named));

    made->name = name;
    return answer_object(asked, made);
}

static HRESULT method(object *it, const call *asked)
{
    BSTR name = asked->count ? text_of(asked->arguments) : NULL;
    int at = 0;

    (void)it;
    while (name && at < 2 && _wcsicmp(name, METHODS[at]))
        at++;
    SysFreeString(name);
    return name && at < 2 ? method_named(asked, METHODS[at]) : WBEM_E_NOT_FOUND;
}

static HRESULT every_method(object *it, const call *asked)
{
    void **both = calloc(2, sizeof(*both));

    (void)it;
    for (int at = 0; at < 2; at++) {
        both[at] = new_object(&OF_METHOD, sizeof(named));
        ((named *)both[at])->name = METHODS[at];
    }
    return answer_enumeration(asked, both, 2);
}

static HRESULT method_name(object *it, const call *asked)
{
    return answer_text(asked, ((named *)it)->name);
}

static HRESULT in_parameters(object *it, const call *asked)
{
    (void)it;
    return answer_object(asked, new_object(&OF_PARAMETERS, sizeof(parameters)));
}

static HRESULT out_parameters(object *it, const call *asked)
{
    (void)it;
    return plain(asked, &OF_OUTCOME);
}

static HRESULT methods(object *it, const call *asked)
{
    (void)it;
    return plain(asked, &OF_METHODS);
}

static BOOL is_class(const call *asked)
{
    BSTR name = asked->count ? text_of(asked->arguments) : NULL;
    BOOL is_it = name && !_wcsicmp(name, OF_CLASS);

    SysFreeString(name);
    return is_it;
}

static HRESULT get(object *it, const call *asked)
{
    (void)it;
    return is_class(asked) ? plain(asked, &OF_MPPREFERENCE) : WBEM_E_NOT_FOUND;
}

static HRESULT instances(object *it, const call *asked)
{
    (void)it;
    return is_class(asked) ? plain(asked, &OF_SET) : WBEM_E_INVALID_CLASS;
}

static HRESULT each(object *it, const call *asked)
{
    (void)it;
    return only(asked, &OF_PREFERENCE);
}

/* Wine's own locator does the rest. */
static HRESULT pass_on(const call *asked)
{
    typedef HRESULT(STDMETHODCALLTYPE * factory_of)(REFCLSID, REFIID, void **);
    factory_of of = (factory_of)(void *)GetProcAddress(LoadLibraryW(L"wbemdisp.dll"), "DllGetClassObject");
    VARIANT backwards[8];
    DISPPARAMS given = {backwards, NULL, asked->count, 0};
    LPOLESTR name = (LPOLESTR)L"ConnectServer";
    IClassFactory *factory;
    IDispatch *locator;
    DISPID id;
    HRESULT code;

    for (UINT at = 0; at < asked->count; at++)
        backwards[at] = asked->arguments[asked->count - 1 - at];
    if (!of || of(&LOCATOR, &IID_IClassFactory, (void **)&factory))
        return E_NOINTERFACE;
    code = IClassFactory_CreateInstance(factory, NULL, &IID_IDispatch, (void **)&locator);
    IClassFactory_Release(factory);
    if (code)
        return code;
    if (!(code = IDispatch_GetIDsOfNames(locator, &IID_NULL, &name, 1, 0, &id)))
        code = IDispatch_Invoke(locator, id, &IID_NULL, 0, DISPATCH_METHOD, &given, asked->result, NULL, NULL);
    IDispatch_Release(locator);
    return code;
}

static HRESULT connect_server(object *it, const call *asked)
{
    BSTR name = asked->count >= 2 ? text_of(&asked->arguments[1]) : NULL;
    BOOL is_ours = name && !_wcsicmp(name, NAMESPACE);
    HRESULT told = told_to_fail(STANDIN, L"ConnectServer");

    (void)it;
    SysFreeString(name);
    if (!is_ours)
        return pass_on(asked);
    return told ? told : plain(asked, &OF_SERVICES);
}

#define CLASS(which, name, ...) \
    static const class which = {name, (const member[]){__VA_ARGS__, {NULL, 0, NULL, FALSE}}, NULL}

CLASS(OF_LOCATOR, L"Locator", {L"ConnectServer", 1, connect_server, TRUE});
CLASS(OF_SERVICES, L"Services", {L"Get", 1, get, TRUE}, {L"InstancesOf", 4, instances, TRUE});
CLASS(OF_SET, L"Set", {L"_NewEnum", DISPID_NEWENUM, each, FALSE});
#define OF_AN_OBJECT                                                                                     \
    {L"Path_", 25, path, FALSE}, {L"Properties_", 21, properties, FALSE}, {L"Methods_", 22, methods, FALSE}, \
        {L"Qualifiers_", 20, nothing, FALSE}

CLASS(OF_PREFERENCE, L"Preference", OF_AN_OBJECT);
CLASS(OF_MPPREFERENCE, L"Class", {L"ExecMethod_", 8, execute, TRUE}, OF_AN_OBJECT);
CLASS(OF_PATH, L"Path", {L"DisplayName", 11, display_name, FALSE});
CLASS(OF_METHODS, L"Methods", {L"Item", 0, method, TRUE}, {L"_NewEnum", DISPID_NEWENUM, every_method, FALSE});
CLASS(OF_METHOD, L"Method", {L"Name", 1, method_name, FALSE}, {L"InParameters", 3, in_parameters, FALSE},
      {L"OutParameters", 4, out_parameters, FALSE}, {L"Qualifiers_", 5, nothing, FALSE});
CLASS(OF_OUTCOME, L"Outcome", {L"Properties_", 21, results, FALSE});
CLASS(OF_RESULTS, L"Results", {L"Item", 0, result_of_name, TRUE}, {L"_NewEnum", DISPID_NEWENUM, every_result, FALSE});
CLASS(OF_RESULT, L"Result", {L"Name", 1, result_name, FALSE}, {L"Value", 0, result_value, FALSE},
      {L"IsArray", 6, result_is_array, FALSE});
CLASS(OF_QUALIFIERS, L"Qualifiers", {L"_NewEnum", DISPID_NEWENUM, every_qualifier, FALSE});
CLASS(OF_QUALIFIER, L"Qualifier", {L"Name", 1, qualifier_name, FALSE}, {L"Value", 0, qualifier_value, FALSE});
CLASS(OF_NOTHING, L"Nothing", {L"_NewEnum", DISPID_NEWENUM, none, FALSE});

static const class OF_PROPERTIES = {
    L"Properties",
    (const member[]){
        {L"Item", 0, property_of_name, TRUE},
        {L"_NewEnum", DISPID_NEWENUM, every_property, FALSE},
        {NULL, 0, NULL, FALSE},
    },
    forget_property,
};

static const class OF_PROPERTY = {
    L"Property",
    (const member[]){
        {L"Name", 1, property_name, FALSE},
        {L"Value", 0, property_value, FALSE},
        {L"IsArray", 6, property_is_array, FALSE},
        {L"Qualifiers_", 9, qualifiers, FALSE},
        {NULL, 0, NULL, FALSE},
    },
    forget_property,
};

static const class OF_PARAMETERS = {
    L"Parameters",
    (const member[]){{L"Properties_", 21, properties, FALSE}, {NULL, 0, NULL, FALSE}},
    forget_parameters,
};

object *make(REFCLSID wanted)
{
    return IsEqualCLSID(wanted, &LOCATOR) ? new_object(&OF_LOCATOR, sizeof(object)) : NULL;
}
