// Bounce rules for words that say that the fault is ours: sender, network address, or account. The comment above
// each row is the reply that it is for.
import { anyOf, type BounceRule, laterPerhaps, oursBy } from './answers.ts'

const { sender, address, account } = oursBy

export const ourWords: readonly BounceRule[] = [
  // 421 4.7.0 Error: too many connections from 192.0.2.1 (Postfix); 421 4.3.2 Connection rate limit exceeded (Sendmail)
  // Who is asked for a slower pace keeps it (mail/smtp/pace.ts): nothing is wrong with the sender.
  {
    code: /^4/,
    text: anyOf(
      /too many (concurrent |open |smtp )*(sessions|connections)/,
      /trop de connexions/,
      /connection rate/,
      /concurrent connections/,
      /number of connections/,
    ),
    bounce: laterPerhaps,
  },
  // 550 5.7.0 Mail relay denied. Invalid credentials for relay (Google Workspace)
  // 550-Please turn on SMTP Authentication in your mail client (Exim, cPanel)
  // 530 5.7.57 Client was not authenticated to send anonymous mail during MAIL FROM (Exchange)
  {
    text: anyOf(
      /authenticat\w{0,8} (is )?required/,
      /requires authentication/,
      /turn on smtp auth/,
      /client was not authenticated/,
      /must (be )?authenticat/,
      /(invalid|incorrect|bad) (credentials|authentication|password|login)/,
      /authentication (failed|failure|unsuccessful|invalid|credentials)/,
      /not (yet )?authenticated/,
      /unauthenticated senders? not/,
      /not authorized to perform/,
      /username and password not accepted/,
      /code d.authentification invalide/,
      /authentification requise/,
      /application-specific password/,
      /log in (with|through|via) your web browser/,
      /failed to authenticate/,
    ),
    bounce: account,
  },
  // 554 5.7.1 <@>: Relay access denied; 550 relay not permitted; 550 5.7.1 Unable to relay
  // 553 sorry, that domain isn't in my list of allowed rcpthosts (#5.7.1) (qmail)
  {
    text: anyOf(
      /relay(ing)?( access| operation| traffic)? (is )?(denied|disallowed|not (allowed|permitted)|prohibited|disabled|forbidden|rejected)/,
      /(unable|not (allowed|permitted|authorized)|isn.t allowed|n.t allowed|denies|cannot|may not) (to )?relay/,
      /(does|do) not relay/,
      /don.t relay/,
      /open relay/,
      /as a relay\b/,
      /rcpthosts/,
      /unauthorized relay/,
      /cannot deliver mail for/,
    ),
    bounce: account,
  },
  // 550 5.4.5 Daily user sending limit exceeded; 454 Throttling failure: Daily message quota exceeded (SES)
  // 451 Authentication failed: Maximum credits exceeded (SendGrid); 550 5.7.705 tenant has exceeded threshold
  // 550 message sending for this account is disabled (Mail.ru); 550 5.1.8 Access denied, bad outbound sender
  {
    text: anyOf(
      /\b(daily|hourly|monthly|24-hour|per (day|hour)) .{0,40}(limit|quota)\b.{0,20}exceed/,
      /exceeded .{0,40}\b(sending|daily|hourly|monthly|24-hour|outbound)\b.{0,20}(limit|quota|rate)/,
      /(sending|relay|submission|outbound) (limit|quota).{0,30}exceed/,
      /quota for sending/,
      /max (e-?mails|defers and failures) per hour/,
      /unusual sending activity/,
      /submission quota/,
      /reached .{0,40}\b(sending|daily|hourly|monthly|message) (limit|quota)/,
      /daily limit/,
      /tenant has exceeded/,
      /unregistered domains/,
      /credits exceeded/,
      /bad outbound sender/,
      /message sending .{0,30}disabled/,
      /(mail )?sending (has been |was |is |for this account is )?(denied|suspended|paused|disabled)/,
      /account (is |has been )?(suspended|restricted|disabled|blocked) (from|for) sending/,
      /outbounds? disabled/,
      /(free accounts|sandbox subdomains) are for test/,
    ),
    bounce: account,
  },
  // 550 5.7.1 Email quota exceeded (Google Workspace, of the account that sends through it)
  {
    ofRelay: 'always',
    enhanced: /^(?!\d\.2\.2)/,
    text: /^(?!.*\b(mailbox|inbox|recipient|storage|disk|over ?-?quota)\b).*\bquota\b/is,
    bounce: account,
  },
  // 552 Your account has been suspended. Please contact us to reactivate (SMTP2GO); 502 Your SMTP account is not yet …
  { text: /\byour (smtp |mail |e-?mail )?account\b/i, bounce: account },
  // 535 Authentication failed: account disabled (SendGrid)
  {
    ofRelay: 'always',
    text: /\b(account|user|domain)( \S{1,60})? (is |has been |was )?(suspended|disabled|restricted|blocked|deactivated|terminated|closed)\b/i,
    bounce: account,
  },
  // 550 5.1.8 <@>: Sender address rejected: User unknown; 550 Sender verify failed; 501 Emetteur invalide
  // 554 Message rejected: Email address is not verified. The following identities failed the check (SES)
  // 550 The from address does not match a verified Sender Identity (SendGrid)
  // 550 sender account has been suspended; 550 Return-Path address unknown
  // 550 5.7.60 SMTP; Client does not have permissions to send as this sender (Exchange)
  {
    text: anyOf(
      /sender address rejected/,
      /\bsender (is |was )?(unknown|not|invalid|denied|rejected|blocked|refused)\b/,
      /invalid sender/,
      /sender(.s)? (e-?mail )?(verify|verification|domain|address)\b.{0,40}(fail|reject|invalid|not|unverif|could ?n.t|resolve|exist)/,
      /domain of (the )?sender/,
      /(envelope|unknown) sender/,
      /sender envelope/,
      /bad ?mail ?from/,
      /invalid mail ?from/,
      /mail ?from (domain|address) .{0,60}(not|listed|invalid|block|reject)/,
      /no mx for your from/,
      /invalid dns mx/,
      /unconfigured sending domain/,
      /SendAsDenied/,
      /spam abuse detected/,
      /reputation of (a|the|your) (sending )?domain/,
      /(sender|domain) frequency limited/,
      /sender ip blocked/,
      /spam sender/,
      /[ée]metteur invalide/,
      /(address|identity|sender|domain) (is |was )?not (yet )?verified/,
      /verified sender/,
      /\b(from (e-?mail )?address|(return|reverse)[ -]path)\b.{0,40}(not|invalid|reject|unknown)/,
      /\b(sender|sending|originator)(.s)? (e-?mail )?(account|address|mailbox|user)\b.{0,30}(unknown|suspend|disable|deactivate|close|terminate|block)/,
      /sender signature/,
      /send as this sender/,
      /not owned by (the )?user/,
      /(not authorized|not allowed|n.t permitted) to (send|use) .{0,30}(from|as) th/,
      /your (e-?mail address|domain) (\S+ )?(has been|is) (blocked|black)/,
      /unresolvable .{0,20}(from|domain)/,
      /from: domain is invalid/,
      /spoof/,
    ),
    bounce: sender,
  },
  // 550-5.7.26 Unauthenticated email from b.test is not accepted due to domain's DMARC policy
  {
    text: anyOf(
      /\b(spf|dkim|dmarc|domainkeys)\b/,
      /sender policy framework/,
      /unauthenticated (e-?mail|message|sender)/,
      /is unauthenticated/,
      /authentication (checks|level|information|requirements)/,
      /domain authentication fail/,
    ),
    bounce: sender,
  },
  // 504 5.5.2 <a1b2c3>: Helo command rejected: need fully-qualified hostname
  { text: /\b(helo|ehlo)\b/i, bounce: address },
  // 550 5.7.25 The IP address sending this message does not have a PTR record; 550 Fix reverse DNS for 192.0.2.1
  // 450 4.7.1 Client host rejected: cannot find your hostname (Postfix)
  {
    text: anyOf(
      /reverse (dns|name|lookup|host ?name)/,
      /\br-?dns\b/,
      /\bptr\b/,
      /fcrdns/,
      /cannot find your (reverse )?host ?name/,
      /dns check fail/,
    ),
    bounce: address,
  },
  // 530 5.7.0 Must issue a STARTTLS command first; 553 This route requires encryption (TLS) (Mimecast)
  {
    text: anyOf(
      /must issue a starttls/,
      /requires? (encryption|tls)/,
      /(tls|encryption)(\/\S{1,20})? (connection )?(is )?(required|needed)/,
    ),
    bounce: address,
  },
  // 554 5.7.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org
  // 550 5.7.606 Access denied, banned sending IP [192.0.2.1]; 554 IP=192.0.2.1 - None/bad reputation (T-Online)
  // 421 4.7.0 [TSS04] Messages from 192.0.2.1 temporarily deferred due to unexpected volume or user complaints
  {
    text: anyOf(
      /\b(spamhaus|spamcop|spamrats|uceprotect|dnsbls?|rbls?|cbl|sorbs|psbl|abuseat|senderscore|cloudmark|invaluement|ivmsip|barracudacentral|mail-abuse)\b/,
      /barracuda reputation/,
      /proofpoint\.com/,
      /(block|black|deny) ?-?list(ed|ing)?\b/,
      /banned send/,
      /(poor|bad|low|negative|none\/bad) reputation/,
      /reputation of (the|your) (sending|ip)/,
      /ip reputation/,
      /unusual rate of/,
      /volume or user complaints/,
      /due to user complaints/,
      /permanently deferred/,
      /network is on our/,
      /client (host|ip)?.{0,40}(blocked|rejected|denied)/,
      /\b(ip|host|network)( address)?(es)?( \S{1,40})? ((is|was|has been|were|are) .{0,20})?(block|ban|refus|reject|filter|denied)/,
      /your ip\b/,
      /(this|suspected spam) ip\b/,
      /(connections?|mail) (from|not accepted|will not be accepted).{0,40}\bip\b/,
      /connections? (are )?(not accepted|rejected|denied|will not be accepted)/,
      /blocked by spam statistics/,
      /(ip|connection) frequency limited/,
      /(not accepting|no) connections/,
      /dial-?up/,
      /dynamic ip/,
      /not authorized to send (e-?mail )?directly/,
      /adresse ip source/,
      /les emails envoyes/,
      /access to this mail system/,
      /client host rejected/,
      /no access for this (ip|domain)/,
    ),
    bounce: address,
  },
  // 454 Throttling failure: Maximum sending rate exceeded. (SES); 421 4.2.1 Service refuse. (La Poste)
  {
    code: /^4/,
    text: anyOf(
      /throttl/,
      /rate limit/,
      /too (fast|frequent|many (messages|connects))/,
      /sending rate/,
      /service refuse/,
    ),
    bounce: laterPerhaps,
  },
  // 535 5.7.8 Error; 530 5.7.0; 534; 538: the login, whatever else the words say of a user
  { code: /^(530|534|535|538)$/, bounce: account },
  // 553 5.1.7 Invalid address; 553 5.1.8 unknown address: the code says that it is the sender's, so the words do too
  { enhanced: /^\d\.1\.[78]$/, bounce: sender },
]
