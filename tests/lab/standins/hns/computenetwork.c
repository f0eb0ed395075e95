/*
 * computenetwork.dll for Wine: the Host Compute Network API, as its description has it.
 *
 * A handle is a copy of the object's GUID, which lives until it is closed.
 */
#include "calls.h"
#include <stdlib.h>

#define API __declspec(dllexport) HRESULT WINAPI

typedef GUID *HANDLE_OF;

static HRESULT opened(HRESULT result, const GUID *id, HANDLE_OF *handle)
{
    if (FAILED(result) || !handle)
        return result;
    if (!(*handle = malloc(sizeof(GUID))))
        return E_OUTOFMEMORY;
    **handle = *id;
    return result;
}

static HRESULT created(const char *name, const GUID *id, const GUID *of, PCWSTR settings, HANDLE_OF *handle, PWSTR *record)
{
    WCHAR braced[40] = {0};
    GUID made = {0};
    HRESULT result;

    if (of) {
        StringFromGUID2(of, braced, 40);
        braced[37] = 0;
    }
    result = hns_call(name, id, of ? braced + 1 : NULL, settings, &made, NULL, record);
    return opened(result, &made, handle);
}

#define ALL_BUT_CREATE(Kind, Kinds)                                                                          \
    API HcnEnumerate##Kinds(PCWSTR query, PWSTR *found, PWSTR *record)                                       \
    {                                                                                                        \
        return hns_call("Enumerate" #Kinds, NULL, NULL, query, NULL, found, record);                         \
    }                                                                                                        \
    API HcnOpen##Kind(const GUID *id, HANDLE_OF *handle, PWSTR *record)                                      \
    {                                                                                                        \
        return opened(hns_call("Open" #Kind, id, NULL, NULL, NULL, NULL, record), id, handle);               \
    }                                                                                                        \
    API HcnModify##Kind(HANDLE_OF handle, PCWSTR settings, PWSTR *record)                                    \
    {                                                                                                        \
        return hns_call("Modify" #Kind, handle, NULL, settings, NULL, NULL, record);                         \
    }                                                                                                        \
    API HcnQuery##Kind##Properties(HANDLE_OF handle, PCWSTR query, PWSTR *properties, PWSTR *record)         \
    {                                                                                                        \
        return hns_call("Query" #Kind "Properties", handle, NULL, query, NULL, properties, record);          \
    }                                                                                                        \
    API HcnDelete##Kind(const GUID *id, PWSTR *record)                                                       \
    {                                                                                                        \
        return hns_call("Delete" #Kind, id, NULL, NULL, NULL, NULL, record);                                 \
    }                                                                                                        \
    API HcnClose##Kind(HANDLE_OF handle)                                                                     \
    {                                                                                                        \
        free(handle);                                                                                        \
        return S_OK;                                                                                         \
    }

#define CREATE(Kind)                                                                                         \
    API HcnCreate##Kind(const GUID *id, PCWSTR settings, HANDLE_OF *handle, PWSTR *record)                   \
    {                                                                                                        \
        return created("Create" #Kind, id, NULL, settings, handle, record);                                  \
    }

ALL_BUT_CREATE(Network, Networks)
ALL_BUT_CREATE(Endpoint, Endpoints)
ALL_BUT_CREATE(Namespace, Namespaces)
ALL_BUT_CREATE(LoadBalancer, LoadBalancers)
CREATE(Network)
CREATE(Namespace)
CREATE(LoadBalancer)

API HcnCreateEndpoint(HANDLE_OF network, const GUID *id, PCWSTR settings, HANDLE_OF *handle, PWSTR *record)
{
    return created("CreateEndpoint", id, network, settings, handle, record);
}
