// Rules that recognise opens and clicks of machines.
import { BlockList, isIPv4, isIPv6 } from 'node:net'

/** Why an open or click counts as a machine's; stored in `email_events.machine`. */
export type MachineReason =
  | 'head'
  | 'prefetch'
  | 'too_soon'
  | 'burst'
  | 'mail_proxy'
  | 'link_scanner'
  | 'link_preview'
  | 'no_browser'

/** Rules on the User-Agent header; the first match counts. */
const AGENTS: readonly { agent: RegExp; reason: MachineReason }[] = [
  // What Gmail fetches before it shows a mail, while the person has it open; the proxy fetches again when they open.
  {
    agent: /Chrome\/42\.0\.2311\.135 Safari\/537\.36 Edge\/12\.246 Mozilla\/5\.0$/,
    reason: 'prefetch',
  },
  // Apple's Mail Privacy Protection sends only this.
  { agent: /^Mozilla\/5\.0$/, reason: 'mail_proxy' },
  { agent: /SafeLinks|MSOffice Preview|BingPreview|SkypeUriPreview/i, reason: 'link_scanner' },
  { agent: /Barracuda|Proofpoint|Mimecast|IronPort|FireEye|Trend ?Micro/i, reason: 'link_scanner' },
  { agent: /Symantec|Sophos|Forcepoint|Cloudmark|Fortinet|Zscaler/i, reason: 'link_scanner' },
  { agent: /facebookexternalhit|Twitterbot|LinkedInBot|Slackbot/i, reason: 'link_preview' },
  { agent: /Discordbot|TelegramBot|WhatsApp|Pinterestbot|redditbot/i, reason: 'link_preview' },
  {
    agent: /Googlebot|bingbot|Applebot|YandexBot|DuckDuckBot|Baiduspider/i,
    reason: 'link_preview',
  },
  { agent: /\b(?:bot|crawler|spider|scanner|preview)\b/i, reason: 'link_scanner' },
  {
    agent: /^(?:curl|Wget|python|Go-http-client|okhttp|axios|node|undici|Java|libwww|Ruby|PHP)\b/i,
    reason: 'no_browser',
  },
  { agent: /HeadlessChrome|PhantomJS|Puppeteer|Playwright/i, reason: 'no_browser' },
  { agent: /^\s*$/, reason: 'no_browser' },
]

/**
 * Proxies that fetch a picture when a person opens the mail that has it, and keep it for later:
 * "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)",
 * "YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html".
 */
const IMAGE_PROXY = /GoogleImageProxy|YahooMailProxy/i

/** Networks that their owners publish and that nobody else uses. */
const NETWORKS: readonly { networks: readonly string[]; reason: MachineReason }[] = [
  // Google's proxies and crawlers; what its image proxy fetches under its own name is looked at before.
  { networks: ['66.102.0.0/20', '66.249.64.0/19'], reason: 'mail_proxy' },
  // Exchange Online Protection, which Safe Links scans from.
  {
    networks: [
      '40.92.0.0/15',
      '40.107.0.0/16',
      '52.100.0.0/14',
      '104.47.0.0/17',
      '2a01:111:f400::/48',
    ],
    reason: 'link_scanner',
  },
  // Proofpoint, Barracuda, Mimecast.
  { networks: ['67.231.144.0/20', '148.163.128.0/19'], reason: 'link_scanner' },
  { networks: ['64.235.144.0/20', '209.222.80.0/21'], reason: 'link_scanner' },
  { networks: ['205.139.110.0/23', '207.211.30.0/23'], reason: 'link_scanner' },
]

const lists = NETWORKS.map(({ networks, reason }) => ({ list: blockList(networks), reason }))

/** Makes a list of networks for `isListed`. @param networks `ip` or `ip/bits` */
export function blockList(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const network of networks) {
    const [address = '', bits] = network.split('/')
    const family = isIPv6(address) ? 'ipv6' : 'ipv4'
    list.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family)
  }
  return list
}

/** Whether an address is in one of the networks. An IPv4 address may be written as IPv6. */
export function isListed(list: BlockList, ip: string): boolean {
  if (isIPv4(ip)) return list.check(ip, 'ipv4')
  return isIPv6(ip) && list.check(ip, 'ipv6')
}

/** Opens and clicks this soon after the delivery come from a scanner of incoming mail. */
export const TOO_SOON_MS = 2_000
/** A burst: this many links of one email within this time are more than a person follows. */
const BURST_LINKS = 3
export const BURST_MS = 1_000
/** This many links within this time, near an unsubscribe by GET, mean that a scanner made the GET. */
const SCAN_LINKS = 3
const SCAN_MS = 5_000
/** How long before or after the GET they count. */
export const SCAN_WINDOW_MS = 60_000

/** When nothing can show any more that a scanner made a GET of that time. */
export const scanWindowEnd = (at: Date): Date => new Date(at.getTime() + SCAN_WINDOW_MS)

export interface TrackedRequest {
  method: string
  /** `picture`: the pixel of a mail; `link`: whatever a person follows. */
  fetched: 'picture' | 'link'
  header: (name: string) => string | undefined
  ip: string | null
}

/** Whether a browser or proxy fetches the link in advance, before a person has followed it. */
function isPrefetch(header: TrackedRequest['header']): boolean {
  const purposes = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'].map(header)
  return purposes.some((purpose) => /prefetch|prerender|preview/i.test(purpose ?? ''))
}

/** Why a request counts as made by a machine, by its headers and its address; null: a person made it. */
export function machineOf({ method, fetched, header, ip }: TrackedRequest): MachineReason | null {
  if (method === 'HEAD') return 'head'
  if (isPrefetch(header)) return 'prefetch'
  const agent = header('user-agent') ?? ''
  if (IMAGE_PROXY.test(agent)) return fetched === 'picture' ? null : 'mail_proxy'
  const named = AGENTS.find((rule) => rule.agent.test(agent))
  if (named) return named.reason
  return (ip === null ? undefined : lists.find(({ list }) => isListed(list, ip)))?.reason ?? null
}

/** One click on a link. */
export interface LinkFetch {
  at: Date
  link: string
}

/**
 * Whether the last second has more clicks on links of one email than a person makes. @param fetches the newest
 * click included
 */
export function isBurst(fetches: readonly LinkFetch[], now: Date): boolean {
  return linksWithin(fetches, now.getTime() - BURST_MS, now.getTime()) >= BURST_LINKS
}

/** Whether any five seconds have as many different links of one email as a scanner fetches. */
export function showsScanner(fetches: readonly LinkFetch[]): boolean {
  return fetches.some(({ at }) => {
    return linksWithin(fetches, at.getTime() - SCAN_MS, at.getTime()) >= SCAN_LINKS
  })
}

function linksWithin(fetches: readonly LinkFetch[], from: number, to: number): number {
  const within = fetches.filter(({ at }) => at.getTime() > from && at.getTime() <= to)
  return new Set(within.map(({ link }) => link)).size
}
