//! Closed lists of words that are written into objects.

/// One word of a closed list.
pub trait Word: Copy + 'static {
    /// All words of the list.
    const ALL: &'static [Self];

    /// As it is written in an object.
    fn as_str(self) -> &'static str;

    /// The word that is written so, if there is one.
    #[must_use]
    fn from_word(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|word| word.as_str() == text)
    }
}

/// Declares an enum whose variants are words: `Variant = "Text"`, each with its doc comment.
macro_rules! words {
    ($(#[$outer:meta])* $name:ident { $($(#[$inner:meta])* $variant:ident = $text:literal,)+ }) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            $($(#[$inner])* $variant,)+
        }

        impl $crate::conditions::Word for $name {
            const ALL: &'static [Self] = &[$(Self::$variant,)+];

            fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)+
                }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str($crate::conditions::Word::as_str(*self))
            }
        }
    };
}

pub(super) use words;
