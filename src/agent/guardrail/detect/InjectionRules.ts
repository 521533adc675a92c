/**
 * The wordings of injected instructions.
 *
 * @since 0.1.0
 */

/**
 * The category of an injection: `override` the instructions, take another `role` without limits, `extraction` of the instructions,
 * `exfiltration` of the conversation, `markup` that imitates another speaker's turn, `encoding` of instructions, or `hidden` text.
 *
 * @category models
 * @since 0.1.0
 */
export type InjectionCategory = (typeof injectionCategories)[number]

/** Every category. */
export const injectionCategories = [
  "override",
  "role",
  "extraction",
  "exfiltration",
  "markup",
  "encoding",
  "hidden"
] as const

/**
 * How certain a pattern is: `high` if harmless texts hardly ever match it, `medium` if some do, `low` if many do.
 *
 * @category models
 * @since 0.1.0
 */
export type Severity = "low" | "medium" | "high"

/** The severities, the lowest first. */
export const severities: ReadonlyArray<Severity> = ["low", "medium", "high"]

const verbs = "ignore/ignoring/disregard/disregarding/forget/override/bypass/neglect/discard/dismiss"
const rules =
  "instruction*/prompt*/rules/guideline*/directive*/command*/constraint*/restriction*/programming/safeguard*"
const told = "told/instructed/taught/given/trained/asked"
const ask =
  "reveal/show/print/repeat/output/display/tell/give/leak/expose/disclose/dump/recite/quote/translate/summarize"
const limits = "restriction*/rule*/filter*/limit*/guideline*/guardrail*/censorship/ethic*/moral*"

/** Words in order, with alternatives between slashes. A number says how many other words may come between; an asterisk stands for any ending. */
export const wordings: ReadonlyArray<
  readonly [category: InjectionCategory, severity: Severity, all: ReadonlyArray<string>]
> = [
  ["override", "high", [
    `${verbs} 5 previous/prior/above/earlier/preceding/foregoing/initial/original/system/your/all/any/every/these/those 4 ${rules}`,
    `${verbs} 1 everything/anything/all/what/whatever 1 you 2 were/been/are/re 1 ${told}`,
    `not/t/never/stop 1 follow/obey/following/obeying 4 your/previous/prior/above/system/original/initial 3 ${rules}`,
    "ignoriere/ignorieren/vergiss/vergessen/missachte 5 anweisung*/instruktion*/vorgaben/befehle/regeln/richtlinien/weisung*",
    "ignoriere/vergiss/missachte 1 alles 6 gesagt/gelernt/beigebracht/aufgetragen",
    "ignore/ignorez/ignorer/oublie/oubliez/oublier 4 instructions/consignes/regles 3 precedentes/anterieures/initiales",
    "ignore/ignorez/ignorer/oublie/oubliez/oublier 2 tes/vos/toutes 1 instructions/consignes/regles/directives/ordres",
    "ignore/ignorez/oublie/oubliez 0 tout 7 dit/appris/demande/enseigne",
    "ignora/ignore/ignorar/olvida/olvide 4 instrucciones/reglas/ordenes 3 anteriores/previas/originales",
    "ignora/ignore/olvida/olvide 2 tus/sus/todas 1 instrucciones/reglas/ordenes/directrices",
    "ignora/ignore/olvida/olvide 0 todo 6 dicho/dijeron/ensenado/ensenaron/aprendido",
    "ignora/ignorate/ignori/dimentica 4 istruzioni/regole 3 precedenti/iniziali",
    "ignora/ignorate/ignori/dimentica/dimenticate 2 tue/vostre/sue/tutte 1 istruzioni/regole/direttive",
    "ignora/ignorate/dimentica/dimenticate 0 tutto 6 detto/imparato/insegnato",
    "ignore/ignora/esqueca/esquece 4 instrucoes/regras 3 anteriores/previas/iniciais",
    "ignore/ignora/esqueca/esquece 2 suas/tuas/todas 1 instrucoes/regras/diretrizes",
    "ignore/ignora/esqueca/esquece 0 tudo 6 dito/disseram/ensinado/aprendeu",
    "игнорируй/игнорируйте/забудь/забудьте 5 инструкции/указания/правила",
    "игнорируй/игнорируйте/забудь/забудьте 1 всё 6 сказали/говорили/сказано/учили"
  ]],
  ["override", "medium", [
    `${verbs} 2 rules/instructions/guidelines/restrictions/prompt`,
    `${verbs} 1 everything/anything/all 1 you 1 know/knew/learned/learnt`,
    `${verbs} 0 everything/anything/all 3 above/before/previously/earlier/preceding/prior`,
    "your/these 3 new/real/actual/updated 1 instructions/directives/objective/orders"
  ]],
  ["override", "low", ["from 0 now 0 on 1 you"]],
  ["role", "high", [
    "do 0 anything 0 now",
    "you 2 now 4 dan/developer/god/jailbreak/sudo/debug/unrestricted/evil 0 mode",
    `pretend/act/roleplay/behave/respond/answer 7 no/without/ignoring 2 ${limits}`,
    "you 3 unrestricted/uncensored/unfiltered/amoral/jailbroken 2 ai/assistant/model/bot/chatbot",
    "you 1 no 0 longer 3 bound/restricted/limited/constrained"
  ]],
  ["role", "medium", [
    "enable/enabled/activate/activated/enter/entering 2 dan/god/jailbreak/unrestricted/evil 0 mode",
    `you 1 have 0 no 1 ${limits}`
  ]],
  ["role", "low", ["enable/enabled/activate/activated/enter/entering 2 root/developer/debug/admin/sudo 0 mode"]],
  ["extraction", "high", [`${ask} 3 system/initial/hidden/developer/secret 1 prompt*/instruction*/directive*/message`]],
  ["extraction", "medium", [
    `${ask} 2 your 2 prompt*/instruction*`,
    "what 2 your 1 system/initial/hidden/original/secret 0 prompt*/instruction*/message",
    "repeat/print/output/display/copy/recite 3 everything/all/text/words 2 above/before/preceding"
  ]],
  ["exfiltration", "medium", [
    "send/post/upload/forward/transmit/exfiltrate/leak/submit 4 conversation/history/secret*/password*/credential*/keys/tokens/" +
    "transcript 4 to/at/via/into 3 http/https/webhook/url/endpoint/server"
  ]],
  ["encoding", "medium", ["decode/decrypt/deobfuscate/unscramble 8 follow/obey/execute/perform"]]
]

/** Words of an instruction, which distinguish a line that speaks for the system from one that states a value. */
const instructs = "(?:you|your|yours)(?![a-z])|(?<=: ?)(?:obey|comply|ignore|disregard|forget|override|(?:" +
  "reveal|print|output|show|send|transfer|execute|run|delete|grant|give|enable|disable|allow|follow|answer|respond|reply|act)" +
  " (?:the|all|any|every|this|that|these|a|an|me|us|to|as|with|only|no))(?![a-z])"

/** The beginning of a line that imitates the system. A quoted text after it is a value in a program. */
const systemLine = "(?<![^\\n])[\\t >*#[]{0,6}system(?: message| prompt| instructions?)?[\\]*]{0,2} ?:(?! ?[\"'`])"

/** Patterns for whole texts in lower case. No repetition in them is unbounded. */
export const forms: ReadonlyArray<readonly [category: InjectionCategory, severity: Severity, pattern: RegExp]> = [
  [
    "markup",
    "high",
    /<\|(?:im_start|im_end|im_sep|system|user|assistant|endoftext|eot_id|(?:start|end)_header_id|end|channel|message)\|>/g
  ],
  ["markup", "high", /\[\/?inst\]|<<\/?sys>>|<(?:start|end)_of_turn>/g],
  ["markup", "medium", /<\/?(?:system|system_prompt|system-prompt|instructions)>/g],
  [
    "markup",
    "medium",
    new RegExp(`${systemLine}(?=[^\\n]{0,80}(?<![a-z])(?:${instructs}))`, "g")
  ],
  ["markup", "low", /(?<![^\n])(?:#{1,4} ?)?(?:system|instructions?) ?:/g],
  ["override", "high", /(?:忽略|无视|忘记|無視|忽視|忘記)[^。\n]{0,12}(?:指令|指示|提示|规则|規則|说明|說明)/g],
  ["override", "high", /(?:指示|命令|ルール|プロンプト)[^。\n]{0,4}(?:無視|忘れ)/g]
]

/** Patterns for unfolded texts, which find invisible text. */
export const unseen: ReadonlyArray<readonly [severity: Severity, pattern: RegExp]> = [
  ["high", /(?<![\u{1f3f4}\u{e0000}-\u{e007f}])[\u{e0000}-\u{e007f}]{4}/gu],
  ["medium", /[\u202d\u202e]/g],
  ["low", /(?:[\u200b\u2060\ufeff][^\u200b\u2060\ufeff]{0,9}){7}[\u200b\u2060\ufeff]/g]
]
