// SPDX-License-Identifier: Apache-2.0
#include "net/udp_socket.hpp"

#include "base/descriptor.hpp"
#include "base/error.hpp"
#include "net/endpoint.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstring>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace onesea::net {
namespace {

ip_address from_v4(const in_addr &a)
{
    ip_address result;
    map_v4(a, &result.bytes);
    return result;
}

// What the kernel gives, doubled by it for its own bookkeeping. The forced form ignores the system's limit and needs
// CAP_NET_ADMIN.
std::size_t set_buffer(int fd, int option, int forced, std::size_t bytes)
{
    int wanted = int(bytes), given = 0;
    socklen_t size = sizeof given;
    if (setsockopt(fd, SOL_SOCKET, forced, &wanted, sizeof wanted) != 0)
        setsockopt(fd, SOL_SOCKET, option, &wanted, sizeof wanted);
    getsockopt(fd, SOL_SOCKET, option, &given, &size);
    return std::size_t(given);
}

bool take_option(int level, int name, int value)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return false;
    bool taken = setsockopt(fd, level, name, &value, sizeof value) == 0;
    ::close(fd);
    return taken;
}

std::uint32_t mtu_of(const char *name)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return 0;
    ifreq request{};
    std::strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    bool known = ioctl(fd, SIOCGIFMTU, &request) == 0;
    ::close(fd);
    return known ? std::uint32_t(request.ifr_mtu) : 0;
}

int bind_and_tune(int fd, const ip_address &address, std::size_t buffer_bytes, udp_socket *result)
{
    endpoint where(address.bytes, 0, address.scope);
    int on = 1;
    if (bind(fd, &where.any, where.size) != 0) return errno;
    // For a second, connected one. After bind(): before it, the kernel may choose a port that another rank has.
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) != 0) return errno;
    if (getsockname(fd, &where.any, &where.size) != 0) return errno;
    result->port = where.port();
    result->receive_bytes = set_buffer(fd, SO_RCVBUF, SO_RCVBUFFORCE, buffer_bytes);
    result->send_bytes = set_buffer(fd, SO_SNDBUF, SO_SNDBUFFORCE, buffer_bytes);
    result->gro = setsockopt(fd, IPPROTO_UDP, UDP_GRO, &on, sizeof on) == 0;
    // ICMP, which anybody can forge, has no say in how long a packet is. A router in between cuts what is too long for
    // what lies behind it; one of IPv6 does not, so there it must be listened to.
    const int whole = address.is_v4() ? IP_PMTUDISC_INTERFACE : IPV6_PMTUDISC_DO;
    if (address.is_v4())
        setsockopt(fd, IPPROTO_IP, IP_MTU_DISCOVER, &whole, sizeof whole);
    else
        setsockopt(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, &whole, sizeof whole);
    return 0;
}

} // namespace

bool ip_address::is_v4() const { return net::is_v4(bytes); }

bool ip_address::is_loopback() const
{
    constexpr std::uint8_t v6_loopback[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    return is_v4() ? bytes[v4_at] == 127 : std::memcmp(bytes, v6_loopback, 16) == 0;
}

bool parse_ip(std::string_view text, ip_address *result)
{
    std::string plain(text), zone;
    if (auto percent = plain.find('%'); percent != std::string::npos) {
        zone = plain.substr(percent + 1);
        plain.resize(percent);
    }
    in_addr v4;
    if (zone.empty() && inet_pton(AF_INET, plain.c_str(), &v4) == 1) {
        *result = from_v4(v4);
        return true;
    }
    ip_address parsed;
    if (inet_pton(AF_INET6, plain.c_str(), parsed.bytes) != 1) return false;
    if (!zone.empty() && (parsed.scope = if_nametoindex(zone.c_str())) == 0) return false;
    *result = parsed;
    return true;
}

std::string to_string(const ip_address &address)
{
    char text[INET6_ADDRSTRLEN] = {};
    if (address.is_v4())
        inet_ntop(AF_INET, address.bytes + v4_at, text, sizeof text);
    else
        inet_ntop(AF_INET6, address.bytes, text, sizeof text);
    char name[IF_NAMESIZE];
    std::string result = text;
    if (address.scope && if_indextoname(address.scope, name)) result += std::string("%") + name;
    return result;
}

int open_udp_socket(const ip_address &address, udp_socket *result, std::size_t buffer_bytes)
{
    int fd = above_standard(socket(address.is_v4() ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0) return fail(SEA_ERR_SYSTEM, "a UDP socket cannot be opened: {}", std::strerror(errno));
    udp_socket opened;
    if (int error = bind_and_tune(fd, address, buffer_bytes, &opened)) {
        ::close(fd);
        return fail(SEA_ERR_SYSTEM, "a UDP socket cannot be bound to {}: {}", to_string(address), std::strerror(error));
    }
    opened.fd = fd;
    *result = opened;
    return SEA_OK;
}

int open_udp_socket(std::string_view address, udp_socket *result, std::size_t buffer_bytes)
{
    ip_address parsed;
    if (!parse_ip(address, &parsed)) return fail(SEA_ERR_INVALID, "'{}' is not a numeric IP address", address);
    return open_udp_socket(parsed, result, buffer_bytes);
}

std::vector<interface_info> list_interfaces()
{
    std::vector<interface_info> all;
    ifaddrs *list = nullptr;
    if (getifaddrs(&list) != 0) return all;
    for (ifaddrs *i = list; i; i = i->ifa_next) {
        if (!i->ifa_addr) continue;
        interface_info info;
        if (i->ifa_addr->sa_family == AF_INET) {
            info.address = from_v4(reinterpret_cast<sockaddr_in *>(i->ifa_addr)->sin_addr);
        } else if (i->ifa_addr->sa_family == AF_INET6) {
            auto *in6 = reinterpret_cast<sockaddr_in6 *>(i->ifa_addr);
            std::memcpy(info.address.bytes, &in6->sin6_addr, 16);
            info.address.scope = in6->sin6_scope_id;
        } else {
            continue;
        }
        info.name = i->ifa_name;
        info.mtu = mtu_of(i->ifa_name);
        info.up = i->ifa_flags & IFF_UP;
        info.loopback = i->ifa_flags & IFF_LOOPBACK;
        all.push_back(std::move(info));
    }
    freeifaddrs(list);
    return all;
}

bool supports_gso() { return take_option(IPPROTO_UDP, UDP_SEGMENT, 1400); }

bool supports_gro() { return take_option(IPPROTO_UDP, UDP_GRO, 1); }

} // namespace onesea::net
