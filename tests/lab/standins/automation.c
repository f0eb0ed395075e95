#include "automation.h"
#include <stdlib.h>

/* IDispatch */

static HRESULT STDMETHODCALLTYPE query(IDispatch *it, REFIID wanted, void **found)
{
    *found = NULL;
    if (!IsEqualIID(wanted, &IID_IUnknown) && !IsEqualIID(wanted, &IID_IDispatch))
        return E_NOINTERFACE;
    *found = it;
    IDispatch_AddRef(it);
    return S_OK;
}

static ULONG STDMETHODCALLTYPE add_reference(IDispatch *it)
{
    return InterlockedIncrement(&((object *)it)->references);
}

static ULONG STDMETHODCALLTYPE release(IDispatch *it)
{
    object *self = (object *)it;
    ULONG left = InterlockedDecrement(&self->references);

    if (!left) {
        if (self->class->forget)
            self->class->forget(self);
        free(self);
    }
    return left;
}

static HRESULT STDMETHODCALLTYPE count_types(IDispatch *it, UINT *count)
{
    (void)it;
    *count = 0;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE tell_type(IDispatch *it, UINT number, LCID locale, ITypeInfo **type)
{
    (void)it, (void)number, (void)locale, (void)type;
    return E_NOTIMPL;
}

static HRESULT STDMETHODCALLTYPE find_names(IDispatch *it, REFIID none, LPOLESTR *names, UINT count, LCID locale,
                                            DISPID *ids)
{
    const member *each = ((object *)it)->class->members;

    (void)locale;
    if (!IsEqualIID(none, &IID_NULL) || count != 1)
        return E_INVALIDARG;
    for (; each->name; each++)
        if (!_wcsicmp(each->name, names[0])) {
            ids[0] = each->id;
            return S_OK;
        }
    ids[0] = DISPID_UNKNOWN;
    return DISP_E_UNKNOWNNAME;
}

static HRESULT STDMETHODCALLTYPE invoke(IDispatch *it, DISPID id, REFIID none, LCID locale, WORD how,
                                        DISPPARAMS *given, VARIANT *result, EXCEPINFO *raised, UINT *wrong)
{
    object *self = (object *)it;
    const member *each = self->class->members;
    WCHAR name[200];
    VARIANT arguments[8], nothing;
    HRESULT code;

    (void)locale, (void)raised, (void)wrong;
    while (each->name && each->id != id)
        each++;
    if (!each->name)
        return DISP_E_MEMBERNOTFOUND;
    if (!IsEqualIID(none, &IID_NULL))
        return DISP_E_UNKNOWNINTERFACE;
    if (given->cArgs > 8)
        return DISP_E_BADPARAMCOUNT;
    if (how == DISPATCH_PROPERTYPUT && (given->cArgs != 1 || given->cNamedArgs != 1 ||
                                        given->rgdispidNamedArgs[0] != DISPID_PROPERTYPUT))
        return DISP_E_PARAMNOTFOUND;
    for (UINT at = 0; at < given->cArgs; at++)
        arguments[at] = given->rgvarg[given->cArgs - 1 - at];
    VariantInit(&nothing);
    if (result)
        VariantInit(result);
    swprintf(name, 200, L"%ls.%ls", self->class->name, each->name);
    if ((code = told_to_fail(STANDIN, name)))
        return code;
    /* A script that does not know asks for a property first, and takes this for the answer that it is none. */
    if (each->is_method && !(how & DISPATCH_METHOD))
        return DISP_E_MEMBERNOTFOUND;
    code = each->answer(self, &(call){how, given->cArgs, arguments, result ? result : &nothing});
    VariantClear(&nothing);
    return code;
}

static const IDispatchVtbl FUNCTIONS = {
    query, add_reference, release, count_types, tell_type, find_names, invoke,
};

void *new_object(const class *class, size_t size)
{
    object *made = calloc(1, size);

    made->functions = &FUNCTIONS;
    made->class = class;
    made->references = 1;
    return made;
}

/* Values */

BSTR text_of(const VARIANT *value)
{
    if (V_VT(value) == VT_BSTR)
        return SysAllocString(V_BSTR(value) ? V_BSTR(value) : L"");
    return V_VT(value) == VT_EMPTY ? SysAllocString(L"") : NULL;
}

BOOL number_of(const VARIANT *value, LONG *number)
{
    VARIANT converted;

    VariantInit(&converted);
    if (FAILED(VariantChangeType(&converted, (VARIANT *)value, 0, VT_I4)))
        return FALSE;
    *number = V_I4(&converted);
    return TRUE;
}

HRESULT answer_text(const call *asked, const WCHAR *text)
{
    V_VT(asked->result) = VT_BSTR;
    V_BSTR(asked->result) = text && *text ? SysAllocString(text) : NULL;
    return S_OK;
}

HRESULT answer_number(const call *asked, LONG number)
{
    V_VT(asked->result) = VT_I4;
    V_I4(asked->result) = number;
    return S_OK;
}

HRESULT answer_object(const call *asked, void *made)
{
    V_VT(asked->result) = VT_DISPATCH;
    V_DISPATCH(asked->result) = made;
    return S_OK;
}

/* IEnumVARIANT */

typedef struct {
    const IEnumVARIANTVtbl *functions;
    LONG references;
    ULONG count, next;
    void **objects;
} enumeration;

static HRESULT STDMETHODCALLTYPE query_enumeration(IEnumVARIANT *it, REFIID wanted, void **found)
{
    *found = NULL;
    if (!IsEqualIID(wanted, &IID_IUnknown) && !IsEqualIID(wanted, &IID_IEnumVARIANT))
        return E_NOINTERFACE;
    *found = it;
    IEnumVARIANT_AddRef(it);
    return S_OK;
}

static ULONG STDMETHODCALLTYPE add_enumeration(IEnumVARIANT *it)
{
    return InterlockedIncrement(&((enumeration *)it)->references);
}

static ULONG STDMETHODCALLTYPE release_enumeration(IEnumVARIANT *it)
{
    enumeration *self = (enumeration *)it;
    ULONG left = InterlockedDecrement(&self->references);

    if (!left) {
        for (ULONG at = 0; at < self->count; at++)
            IDispatch_Release((IDispatch *)self->objects[at]);
        free(self->objects);
        free(self);
    }
    return left;
}

static HRESULT STDMETHODCALLTYPE next_of(IEnumVARIANT *it, ULONG count, VARIANT *values, ULONG *given)
{
    enumeration *self = (enumeration *)it;
    ULONG at;

    for (at = 0; at < count && self->next < self->count; at++) {
        V_VT(&values[at]) = VT_DISPATCH;
        V_DISPATCH(&values[at]) = self->objects[self->next++];
        IDispatch_AddRef(V_DISPATCH(&values[at]));
    }
    if (given)
        *given = at;
    return at == count ? S_OK : S_FALSE;
}

static HRESULT STDMETHODCALLTYPE skip(IEnumVARIANT *it, ULONG count)
{
    (void)it, (void)count;
    return E_NOTIMPL;
}

static HRESULT STDMETHODCALLTYPE reset(IEnumVARIANT *it)
{
    ((enumeration *)it)->next = 0;
    return S_OK;
}

static HRESULT STDMETHODCALLTYPE clone(IEnumVARIANT *it, IEnumVARIANT **copy)
{
    (void)it, (void)copy;
    return E_NOTIMPL;
}

static const IEnumVARIANTVtbl OF_ENUMERATION = {
    query_enumeration, add_enumeration, release_enumeration, next_of, skip, reset, clone,
};

HRESULT answer_enumeration(const call *asked, void **objects, ULONG count)
{
    enumeration *made = calloc(1, sizeof(*made));

    *made = (enumeration){&OF_ENUMERATION, 1, count, 0, objects};
    V_VT(asked->result) = VT_UNKNOWN;
    V_UNKNOWN(asked->result) = (IUnknown *)made;
    return S_OK;
}

/* The library */

static HRESULT STDMETHODCALLTYPE query_factory(IClassFactory *it, REFIID wanted, void **found)
{
    *found = NULL;
    if (!IsEqualIID(wanted, &IID_IUnknown) && !IsEqualIID(wanted, &IID_IClassFactory))
        return E_NOINTERFACE;
    *found = it;
    return S_OK;
}

static ULONG STDMETHODCALLTYPE stays(IClassFactory *it)
{
    (void)it;
    return 1;
}

typedef struct {
    const IClassFactoryVtbl *functions;
    CLSID makes;
} factory;

static HRESULT STDMETHODCALLTYPE create(IClassFactory *it, IUnknown *outer, REFIID wanted, void **found)
{
    object *made;
    HRESULT code;

    *found = NULL;
    if (outer)
        return CLASS_E_NOAGGREGATION;
    made = make(&((factory *)it)->makes);
    code = IDispatch_QueryInterface((IDispatch *)made, wanted, found);
    IDispatch_Release((IDispatch *)made);
    return code;
}

static HRESULT STDMETHODCALLTYPE lock(IClassFactory *it, BOOL locks)
{
    (void)it, (void)locks;
    return S_OK;
}

static const IClassFactoryVtbl OF_FACTORY = {query_factory, stays, stays, create, lock};

__declspec(dllexport) HRESULT STDMETHODCALLTYPE DllGetClassObject(REFCLSID wanted, REFIID interface_id, void **found)
{
    object *made = make(wanted);
    factory *maker;

    *found = NULL;
    if (!made)
        return CLASS_E_CLASSNOTAVAILABLE;
    IDispatch_Release((IDispatch *)made);
    maker = calloc(1, sizeof(*maker)); /* one for each question, and never freed: programs ask once */
    maker->functions = &OF_FACTORY;
    maker->makes = *wanted;
    return IClassFactory_QueryInterface((IClassFactory *)maker, interface_id, found);
}

__declspec(dllexport) HRESULT STDMETHODCALLTYPE DllCanUnloadNow(void)
{
    return S_FALSE;
}
