//! Languages known by their commonest words. Says nothing where it is not sure.
//!
//! Only for languages that are frequent on the web and share few of these words; a word that is common in several
//! counts for each of them, and the margin asked for keeps relatives apart.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Fewer words than this prove nothing.
const MIN_WORDS: usize = 24;
/// Part of the words that must be common ones: one in so many.
const ONE_IN: usize = 5;
/// How many times as often as those of any other language they must occur.
const MARGIN: usize = 2;

const LANGUAGES: [(&str, &str); 8] = [
    (
        "en",
        "the of and to in is that it was for on are with as at be this from have or by not but what were when we there an your which their if will each about how them then she he you his her they has been had would",
    ),
    (
        "de",
        "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis mehr durch",
    ),
    (
        "fr",
        "de la le et les des en un du une que est pour qui dans par sur plus pas au ce il sont avec se ne ou aux son cette mais comme ses nous été vous leur être elle fait ont ces sa je même deux ans peut",
    ),
    (
        "es",
        "de la que el en y los del se las por un para con una su al lo como más pero sus le ya o fue este ha sí porque esta son entre cuando muy sin sobre ser tiene también me hasta hay donde han quien están desde todo nos durante",
    ),
    (
        "it",
        "di e il che la in un a per è una sono con non del da si le come dei i più al della nel ha alla anche gli ma o se delle lo ai su questo ed nella dalla suo essere stato loro cui sua tra era questa degli",
    ),
    (
        "pt",
        "de a o que e do da em um para com não uma os no se na por mais as dos como mas ao ele das à seu sua ou quando muito nos já eu também só pelo pela até isso ela entre era depois sem mesmo aos seus são foi ser",
    ),
    (
        "nl",
        "de van een het en in is dat op te zijn met voor niet aan er om ook als bij door maar naar dan uit over nog worden wordt hij heeft deze tot of kan werd meer geen had wel zich hun zal",
    ),
    (
        "pl",
        "w i na z do się że nie to jest o od po jak za przez a dla są tym ale oraz jego przy był może ich co czy już który tego być także tylko która które było jej też pod",
    ),
];

/// Which languages a word is common in, as bits.
static WORDS: LazyLock<HashMap<&'static str, u8>> = LazyLock::new(|| {
    let mut words = HashMap::new();
    for (position, (_, list)) in LANGUAGES.iter().enumerate() {
        for word in list.split(' ') {
            *words.entry(word).or_insert(0) |= 1 << position;
        }
    }
    words
});

/// The code of the language, if the words leave no doubt.
pub(super) fn language(text: &str) -> Option<&'static str> {
    let mut counts = [0; LANGUAGES.len()];
    let mut total = 0;
    let mut lower = String::new();
    for word in text.split(|character: char| !character.is_alphabetic()).filter(|word| !word.is_empty()) {
        total += 1;
        let word = if word.bytes().all(|byte| byte.is_ascii_lowercase()) {
            word
        } else {
            lower.clear();
            lower.extend(word.chars().flat_map(char::to_lowercase));
            lower.as_str()
        };
        let Some(languages) = WORDS.get(word) else { continue };
        for (position, count) in counts.iter_mut().enumerate() {
            *count += usize::from(languages >> position & 1);
        }
    }
    let best = (0..LANGUAGES.len()).max_by_key(|position| counts[*position])?;
    let second = (0..LANGUAGES.len()).filter(|position| *position != best).map(|position| counts[position]).max()?;
    let is_sure = total >= MIN_WORDS && counts[best] * ONE_IN >= total && counts[best] >= MARGIN * second;
    is_sure.then_some(LANGUAGES[best].0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The beginning of the Universal Declaration of Human Rights.
    const DECLARATIONS: [(&str, &str); 14] = [
        (
            "en",
            "Whereas recognition of the inherent dignity and of the equal and inalienable rights of all members of the human family is the foundation of freedom, justice and peace in the world, whereas disregard and contempt for human rights have resulted in barbarous acts which have outraged the conscience of mankind",
        ),
        (
            "de",
            "Da die Anerkennung der angeborenen Würde und der gleichen und unveräußerlichen Rechte aller Mitglieder der Gemeinschaft der Menschen die Grundlage von Freiheit, Gerechtigkeit und Frieden in der Welt bildet, da die Nichtanerkennung und Verachtung der Menschenrechte zu Akten der Barbarei geführt haben",
        ),
        (
            "fr",
            "Considérant que la reconnaissance de la dignité inhérente à tous les membres de la famille humaine et de leurs droits égaux et inaliénables constitue le fondement de la liberté, de la justice et de la paix dans le monde, considérant que la méconnaissance et le mépris des droits de l'homme ont conduit à des actes de barbarie",
        ),
        (
            "es",
            "Considerando que la libertad, la justicia y la paz en el mundo tienen por base el reconocimiento de la dignidad intrínseca y de los derechos iguales e inalienables de todos los miembros de la familia humana, considerando que el desconocimiento y el menosprecio de los derechos humanos han originado actos de barbarie",
        ),
        (
            "it",
            "Considerato che il riconoscimento della dignità inerente a tutti i membri della famiglia umana e dei loro diritti, uguali ed inalienabili, costituisce il fondamento della libertà, della giustizia e della pace nel mondo, considerato che il disconoscimento e il disprezzo dei diritti umani hanno portato ad atti di barbarie",
        ),
        (
            "pt",
            "Considerando que o reconhecimento da dignidade inerente a todos os membros da família humana e dos seus direitos iguais e inalienáveis constitui o fundamento da liberdade, da justiça e da paz no mundo, considerando que o desconhecimento e o desprezo dos direitos do Homem conduziram a actos de barbárie",
        ),
        (
            "nl",
            "Overwegende, dat erkenning van de inherente waardigheid en van de gelijke en onvervreemdbare rechten van alle leden van de mensengemeenschap grondslag is voor de vrijheid, gerechtigheid en vrede in de wereld, overwegende, dat terzijdestelling van en minachting voor de rechten van de mens geleid hebben",
        ),
        (
            "pl",
            "Zważywszy, że uznanie przyrodzonej godności oraz równych i niezbywalnych praw wszystkich członków wspólnoty ludzkiej jest podstawą wolności, sprawiedliwości i pokoju świata, zważywszy, że nieposzanowanie i nieprzestrzeganie praw człowieka doprowadziło do aktów barbarzyństwa, które wstrząsnęły sumieniem ludzkości",
        ),
        (
            "cs",
            "Vědomi si, že uznání přirozené důstojnosti a rovných a nezcizitelných práv členů lidské rodiny je základem svobody, spravedlnosti a míru ve světě, že zneuznání lidských práv a pohrdání jimi vedlo k barbarským činům, urážejícím svědomí lidstva, a že vybudování světa, ve kterém lidé",
        ),
        (
            "sv",
            "Enär erkännandet av det inneboende värdet hos alla medlemmar av människosläktet och av deras lika och oförytterliga rättigheter är grundvalen för frihet, rättvisa och fred i världen, enär ringaktning och förakt för de mänskliga rättigheterna lett till barbariska gärningar",
        ),
        (
            "af",
            "Aangesien erkenning vir die inherente waardigheid en die gelyke en onvervreembare regte van alle lede van die menslike gesin die basis vir vryheid, reg en vrede in die wêreld is, aangesien minagting en veragting van menseregte gelei het tot barbaarse dade wat die gewete van die mens verontwaardig het",
        ),
        (
            "ca",
            "Considerant que el respecte a la dignitat inherent a tots els membres de la família humana i als drets iguals i inalienables de cadascun constitueix el fonament de la llibertat, de la justícia i de la pau del món, considerant que el desconeixement i el menyspreu dels drets humans han originat actes de barbàrie",
        ),
        (
            "ro",
            "Considerînd că recunoașterea demnității inerente tuturor membrilor familiei umane și a drepturilor lor egale și inalienabile constituie fundamentul libertății, dreptății și păcii în lume, considerînd că ignorarea și disprețuirea drepturilor omului au dus la acte de barbarie care revoltă conștiința omenirii",
        ),
        (
            "da",
            "Da anerkendelse af den mennesket iboende værdighed og af de lige og ufortabelige rettigheder for alle medlemmer af den menneskelige familie er grundlaget for frihed, retfærdighed og fred i verden, da tilsidesættelse af og foragt for menneskerettighederne har ført til barbariske handlinger",
        ),
    ];

    #[test]
    fn nothing_is_said_that_is_not_so() {
        let mut told = 0;
        for (code, text) in DECLARATIONS {
            let found = language(text);
            assert!(found.is_none_or(|found| found == code), "{code} taken for {found:?}");
            told += usize::from(found.is_some());
        }
        assert!(told >= 5, "only {told} of them are told");
        assert_eq!(language(DECLARATIONS[0].1), Some("en"));
    }

    #[test]
    fn short_mixed_or_foreign_text_says_nothing() {
        assert_eq!(language(""), None);
        assert_eq!(language("the cat sat on the mat and it was good"), None);
        assert_eq!(language(&DECLARATIONS.map(|(_, text)| text).join(" ")), None);
        assert_eq!(language(&"函数 test 42 ".repeat(50)), None);
    }
}
