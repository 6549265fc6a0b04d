// The providers behind mail servers, by the names of their MX hosts, and how many connections a receiver gets.

/**
 * Suffixes of MX hosts by provider, as providers tell their customers to enter them, or as their own domains have them.
 * A suffix stands for whole labels. One that customers' own servers have too (amazonaws.com, ovh.net) is none.
 */
const suffixes: Readonly<Record<string, readonly string[]>> = {
  alibaba: ['mxhichina.com', 'qiye.aliyun.com', 'sg.aliyun.com', 'mail.aliyun.com'],
  amazon: [
    'inbound-smtp.us-east-1.amazonaws.com',
    'inbound-smtp.us-east-2.amazonaws.com',
    'inbound-smtp.us-west-2.amazonaws.com',
    'inbound-smtp.ca-central-1.amazonaws.com',
    'inbound-smtp.eu-central-1.amazonaws.com',
    'inbound-smtp.eu-west-1.amazonaws.com',
    'inbound-smtp.eu-west-2.amazonaws.com',
    'inbound-smtp.ap-northeast-1.amazonaws.com',
    'inbound-smtp.ap-southeast-1.amazonaws.com',
    'inbound-smtp.ap-southeast-2.amazonaws.com',
  ],
  apple: ['mail.icloud.com', 'mail.me.com'],
  barracuda: ['ess.barracudanetworks.com'],
  cisco: ['iphmx.com'],
  cloudflare: ['mx.cloudflare.net', 'mxrecord.io'],
  comcast: [
    'mx1.comcast.net',
    'mx2.comcast.net',
    'mx1a1.comcast.net',
    'mx2a1.comcast.net',
    'mx1c1.comcast.net',
    'mx2c1.comcast.net',
    'mx1h1.comcast.net',
    'mx2h1.comcast.net',
  ],
  fastmail: ['messagingengine.com'],
  forwardemail: ['forwardemail.net'],
  free: ['mx1.free.fr', 'mx2.free.fr'],
  gandi: ['mail.gandi.net'],
  godaddy: ['smtp.secureserver.net', 'mailstore1.secureserver.net'],
  google: ['google.com', 'googlemail.com', 'smtp.goog'],
  hornetsecurity: ['hornetsecurity.com', 'antispameurope.com'],
  hostinger: ['mx1.hostinger.com', 'mx2.hostinger.com'],
  improvmx: ['improvmx.com'],
  infomaniak: ['mta-gw.infomaniak.ch', 'mx.infomaniak.ch'],
  ionos: ['ionos.com', 'ionos.de', 'ionos.co.uk', 'ionos.fr', 'ionos.es', 'kundenserver.de'],
  laposte: ['laposte.net'],
  libero: ['libero.it', 'iol.it'],
  mailbox: ['mailbox.org'],
  'mail.ru': ['mail.ru'],
  messagelabs: ['messagelabs.com'],
  microsoft: ['outlook.com', 'hotmail.com', 'office365.us', 'mx.microsoft'],
  migadu: ['migadu.com'],
  mimecast: ['mimecast.com', 'mimecast.co.za'],
  naver: ['naver.com', 'worksmobile.com'],
  netease: ['netease.com', '163.com', '126.com'],
  orange: ['smtp-in.orange.fr'],
  ovh: ['mail.ovh.net', 'mail.ovh.ca'],
  proofpoint: ['pphosted.com', 'ppe-hosted.com', 'gpphosted.com'],
  proton: ['protonmail.ch', 'proton.ch'],
  qq: ['qq.com'],
  rackspace: ['emailsrvr.com'],
  seznam: ['seznam.cz'],
  sfr: ['smtp-in.sfr.fr'],
  sophos: ['hydra.sophos.com'],
  spamexperts: ['antispamcloud.com', 'spamexperts.com', 'spamexperts.eu', 'spamexperts.net'],
  strato: ['rzone.de'],
  telekom: ['t-online.de'],
  titan: ['titan.email'],
  trendmicro: ['tmes.trendmicro.com', 'tmes.trendmicro.eu', 'hes.trendmicro.com'],
  'united-internet': ['gmx.net', 'gmx.com', 'web.de', '1und1.de', 'mail.com'],
  wp: ['wp.pl'],
  yahoo: ['yahoodns.net'],
  'yahoo-japan': ['mail.yahoo.co.jp'],
  yandex: ['yandex.ru', 'yandex.net', 'yandex.com'],
  zoho: ['zoho.com', 'zoho.eu', 'zoho.in', 'zoho.com.au', 'zoho.com.cn', 'zohomail.com'],
}

const providers: ReadonlyMap<string, string> = new Map(
  Object.entries(suffixes).flatMap(([provider, ends]) => ends.map((end) => [end, provider])),
)

/** The provider whose mail server this is; null for any other host. @param host in lower case, without a final dot */
export function providerOf(host: string): string | null {
  for (let at = 0; at >= 0; at = host.indexOf('.', at) + 1 || -1) {
    const provider = providers.get(host.slice(at))
    if (provider !== undefined) return provider
  }
  return null
}

/** Whether a destination is a provider. */
export const isProvider = (destination: string): boolean => destination in suffixes

/** Domains of mailboxes by provider: those whose provider is known before anybody has asked the DNS. */
const mailboxes: Readonly<Record<string, readonly string[]>> = {
  apple: ['icloud.com', 'me.com', 'mac.com'],
  comcast: ['comcast.net'],
  fastmail: ['fastmail.com', 'fastmail.fm'],
  free: ['free.fr'],
  google: ['gmail.com', 'googlemail.com'],
  laposte: ['laposte.net'],
  libero: ['libero.it', 'iol.it'],
  mailbox: ['mailbox.org'],
  'mail.ru': ['mail.ru', 'bk.ru', 'inbox.ru', 'list.ru'],
  microsoft: [
    ...[
      'outlook.com',
      'hotmail.com',
      'live.com',
      'msn.com',
      'outlook.fr',
      'outlook.de',
      'outlook.es',
    ],
    ...[
      'hotmail.fr',
      'hotmail.de',
      'hotmail.it',
      'hotmail.es',
      'hotmail.co.uk',
      'live.fr',
      'live.nl',
      'live.co.uk',
    ],
  ],
  naver: ['naver.com'],
  netease: ['163.com', '126.com'],
  orange: ['orange.fr', 'wanadoo.fr'],
  proton: ['proton.me', 'protonmail.com', 'pm.me'],
  qq: ['qq.com', 'foxmail.com'],
  seznam: ['seznam.cz'],
  sfr: ['sfr.fr'],
  telekom: ['t-online.de'],
  'united-internet': ['gmx.net', 'gmx.de', 'gmx.com', 'gmx.at', 'gmx.ch', 'web.de', 'mail.com'],
  wp: ['wp.pl'],
  yahoo: [
    ...[
      'yahoo.com',
      'ymail.com',
      'rocketmail.com',
      'aol.com',
      'yahoo.fr',
      'yahoo.de',
      'yahoo.it',
      'yahoo.es',
    ],
    ...['yahoo.co.uk', 'yahoo.co.in', 'yahoo.com.br', 'yahoo.ca'],
  ],
  'yahoo-japan': ['yahoo.co.jp'],
  yandex: ['yandex.ru', 'yandex.com', 'ya.ru'],
  zoho: ['zoho.com', 'zohomail.com'],
}

const mailboxProviders: ReadonlyMap<string, string> = new Map(
  Object.entries(mailboxes).flatMap(([provider, domains]) =>
    domains.map((domain) => [domain, provider]),
  ),
)

/** The provider that has the mailboxes of a domain; null for a domain that anybody could have. @param domain in lower case */
export const mailboxProvider = (domain: string): string | null =>
  mailboxProviders.get(domain) ?? null

/** Receivers that are known to take more than the others. */
const connections: ReadonlyMap<string, number> = new Map([
  ['google', 20],
  ['microsoft', 20],
])
const CONNECTIONS = 10

/** The most connections to a destination, a provider or any other one. */
export function connectionsTo(destination: string): number {
  return connections.get(destination) ?? CONNECTIONS
}
