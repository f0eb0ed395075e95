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

typedef enum { PATHS, PROCESSES, LISTS } list;

static const WCHAR *const KEYS[LISTS] = {EXCLUSIONS L"Paths", EXCLUSIONS L"Processes"};
static const WCHAR *const PROPERTIES[LISTS] = {L"ExclusionPath", L"ExclusionProcess"};

typedef struct {
    object object;
    VARIANT lists[LISTS];
} parameters;

static const class OF_SERVICES, OF_SET, OF_PREFERENCE, OF_MPPREFERENCE, OF_METHODS, OF_METHOD, OF_SIGNATURE,
    OF_PARAMETERS, OF_OUTCOME;

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

static HRESULT paths(object *it, const call *asked)
{
    (void)it;
    return tell_list(asked, PATHS);
}

static HRESULT processes(object *it, const call *asked)
{
    (void)it;
    return tell_list(asked, PROCESSES);
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

static HRESULT put_paths(object *it, const call *asked)
{
    return put_list(it, asked, PATHS);
}

static HRESULT put_processes(object *it, const call *asked)
{
    return put_list(it, asked, PROCESSES);
}

static HRESULT put_force(object *it, const call *asked)
{
    (void)it;
    return asked->how == DISPATCH_PROPERTYPUT && V_VT(asked->arguments) == VT_BOOL ? S_OK : DISP_E_TYPEMISMATCH;
}

static void forget_parameters(object *it)
{
    for (int which = 0; which < LISTS; which++)
        VariantClear(&((parameters *)it)->lists[which]);
}

static HRESULT outcome(object *it, const call *asked)
{
    (void)it;
    return answer_number(asked, told_to_fail(STANDIN, L"ReturnValue"));
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

/* The way there */

static HRESULT spawn(object *it, const call *asked)
{
    (void)it;
    return answer_object(asked, new_object(&OF_PARAMETERS, sizeof(parameters)));
}

static HRESULT signature(object *it, const call *asked)
{
    (void)it;
    return plain(asked, &OF_SIGNATURE);
}

static HRESULT method(object *it, const call *asked)
{
    BSTR name = asked->count ? text_of(asked->arguments) : NULL;
    BOOL is_known = name && (!_wcsicmp(name, L"Add") || !_wcsicmp(name, L"Remove"));

    (void)it;
    SysFreeString(name);
    return is_known ? plain(asked, &OF_METHOD) : WBEM_E_NOT_FOUND;
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
    void **one = calloc(1, sizeof(*one));

    (void)it;
    *one = new_object(&OF_PREFERENCE, sizeof(object));
    return answer_enumeration(asked, one, 1);
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
CLASS(OF_PREFERENCE, L"Preference", {L"ExclusionPath", 100, paths, FALSE}, {L"ExclusionProcess", 101, processes, FALSE});
CLASS(OF_MPPREFERENCE, L"Class", {L"ExecMethod_", 8, execute, TRUE}, {L"Methods_", 22, methods, FALSE});
CLASS(OF_METHODS, L"Methods", {L"Item", 0, method, TRUE});
CLASS(OF_METHOD, L"Method", {L"InParameters", 3, signature, FALSE});
CLASS(OF_SIGNATURE, L"Signature", {L"SpawnInstance_", 18, spawn, TRUE});
CLASS(OF_OUTCOME, L"Outcome", {L"ReturnValue", 100, outcome, FALSE});

static const class OF_PARAMETERS = {
    L"Parameters",
    (const member[]){
        {L"ExclusionPath", 100, put_paths, FALSE},
        {L"ExclusionProcess", 101, put_processes, FALSE},
        {L"Force", 102, put_force, FALSE},
        {NULL, 0, NULL, FALSE},
    },
    forget_parameters,
};

object *make(REFCLSID wanted)
{
    return IsEqualCLSID(wanted, &LOCATOR) ? new_object(&OF_LOCATOR, sizeof(object)) : NULL;
}
